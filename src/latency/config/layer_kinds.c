#include "latency/config/layer_kinds.h"

#include <inttypes.h>
#include <string.h>

#include "latency/spec/names.h"

/* Returns the item of a layer. Stores an error if the list is shorter than the model. */
static blis_json_value item_of(blis__config *config, const char *key, int64_t layer) {
  blis_json_value list = blis__config_member(config, key);
  blis_json_value item = blis_json_item(list, (size_t)layer);
  if (!blis_json_has(item)) {
    blis__config_fail(config, "%s has %zu items, and the model has more layers", key,
                      blis_json_count(list));
  }
  return item;
}

static bool has_list(const blis__config *config, const char *key) {
  blis_json_value list = blis__config_member(config, key);
  return blis_json_type_of(list) == BLIS_JSON_ARRAY && blis_json_count(list) > 0;
}

/* Returns an integer in a list. Stores an error for another type. */
static int64_t number_at(blis__config *config, const char *key, int64_t layer) {
  int64_t number = blis__whole_of(item_of(config, key, layer), INT64_MIN);
  if (number == INT64_MIN) {
    blis__config_fail(config, "%s: item %" PRId64 " must be a whole number", key, layer + 1);
    return 0;
  }
  return number;
}

static bool lists_number(blis_json_value list, int64_t number) {
  for (size_t i = 0; i < blis_json_count(list); i++) {
    if (blis__whole_of(blis_json_item(list, i), INT64_MIN) == number) {
      return true;
    }
  }
  return false;
}

/* Single parts. */

/* Returns the key of the word list of Nemotron-H. Newer files use either of two names. */
static const char *part_list(const blis__config *config) {
  return has_list(config, "layers_block_type") ? "layers_block_type" : "layer_types";
}

bool blis__has_single_parts(const blis__config *config) {
  return blis__config_text(config, "hybrid_override_pattern")[0] != '\0' ||
         (blis__config_is(config, "nemotron_h") && has_list(config, part_list(config)));
}

static char part_of_word(blis__config *config, const char *word) {
  static const struct {
    const char *word;
    char part;
  } WORDS[] = {{"mamba", 'M'},     {"linear_attention", 'M'},
               {"attention", '*'}, {"full_attention", '*'},
               {"mlp", '-'},       {"moe", 'E'}};
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
    if (strcmp(word, WORDS[i].word) == 0) {
      return WORDS[i].part;
    }
  }
  blis__config_fail(config, "%s: unknown word '%.40s'; expected mamba, attention, mlp, or moe",
                    part_list(config), word);
  return '\0';
}

char blis__single_part(blis__config *config, int64_t layer) {
  const char *pattern = blis__config_text(config, "hybrid_override_pattern");
  if (pattern[0] == '\0') {
    return part_of_word(config, blis__text_of(item_of(config, part_list(config), layer)));
  }
  if ((size_t)layer >= strlen(pattern)) {
    blis__config_fail(config,
                      "hybrid_override_pattern has %zu letters, and the model has more "
                      "layers",
                      strlen(pattern));
    return '\0';
  }
  if (strchr("M*-E", pattern[layer]) == NULL) {
    blis__config_fail(config,
                      "hybrid_override_pattern: unknown letter '%c'; expected M, *, -, or E",
                      pattern[layer]);
    return '\0';
  }
  return pattern[layer];
}

/* Words. */

/*
 * Returns whether the model is Ling 3.0, which has the model_type of Ling 2.6 but uses KDA instead
 * of lightning attention.
 */
static bool is_ling_3(const blis__config *config) {
  return blis__config_is(config, "bailing") &&
         (strcmp(blis__config_text(config, "linear_attention"), "kda") == 0 ||
          blis__config_has(config, "no_kda_lora") || blis__config_has(config, "kda_lower_bound") ||
          blis__config_is(config, "bailing_moe_v3"));
}

/* Returns the kind for `linear_attention` and `mamba`, which depends on the model family. */
static blis_attention_kind linear_kind(const blis__config *config) {
  if (is_ling_3(config)) {
    return BLIS_ATTENTION_KDA;
  }
  static const struct {
    const char *type; /* the beginning */
    blis_attention_kind kind;
  } TYPES[] = {{"minimax", BLIS_ATTENTION_LIGHTNING}, {"bailing", BLIS_ATTENTION_LIGHTNING},
               {"kimi", BLIS_ATTENTION_KDA},          {"jamba", BLIS_ATTENTION_MAMBA1},
               {"bamba", BLIS_ATTENTION_MAMBA2},      {"granitemoehybrid", BLIS_ATTENTION_MAMBA2}};
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (blis__config_is(config, TYPES[i].type)) {
      return TYPES[i].kind;
    }
  }
  return blis__config_has(config, "linear_attn_config") ? BLIS_ATTENTION_KDA : BLIS_ATTENTION_GDN;
}

static blis_attention_kind mamba_kind(const blis__config *config) {
  return blis__config_is(config, "jamba") ? BLIS_ATTENTION_MAMBA1 : BLIS_ATTENTION_MAMBA2;
}

static blis_attention_kind kind_of_word(blis__config *config, const char *key, const char *word) {
  static const struct {
    const char *word;
    blis_attention_kind kind;
  } WORDS[] = {
      {"full_attention", BLIS_ATTENTION_FULL},
      {"attention", BLIS_ATTENTION_FULL},
      {"global_attention", BLIS_ATTENTION_FULL},
      {"deepseek_sparse_attention", BLIS_ATTENTION_FULL},
      {"indexed_attention", BLIS_ATTENTION_FULL},
      {"minimax_m3_sparse", BLIS_ATTENTION_FULL},
      {"sliding_attention", BLIS_ATTENTION_WINDOW},
      {"sliding_window_attention", BLIS_ATTENTION_WINDOW},
      {"local_attention", BLIS_ATTENTION_WINDOW},
      {"chunked_attention", BLIS_ATTENTION_CHUNK},
      {"compressed_sparse_attention", BLIS_ATTENTION_COMPRESSED},
      {"heavily_compressed_attention", BLIS_ATTENTION_COMPRESSED},
      {"mamba2", BLIS_ATTENTION_MAMBA2},
      {"conv", BLIS_ATTENTION_SHORT_CONV},
      {"hybrid", BLIS_ATTENTION_PARALLEL},
      {"none", BLIS_ATTENTION_NONE},
  };
  if (strcmp(word, "linear_attention") == 0) {
    return linear_kind(config);
  }
  if (strcmp(word, "mamba") == 0) {
    return mamba_kind(config);
  }
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
    if (strcmp(word, WORDS[i].word) == 0) {
      return WORDS[i].kind;
    }
  }
  blis__config_fail(config,
                    "%s: unknown word '%.40s'; expected full_attention, sliding_attention, "
                    "chunked_attention, linear_attention, mamba, conv, hybrid, or attention",
                    key, word);
  return BLIS_ATTENTION_NONE;
}

/* A rule returns whether it applies, and stores the kind of the layer. */
typedef bool kind_rule(blis__config *config, const blis__sizes *sizes, int64_t layer,
                       blis_attention_kind *kind);

static bool by_layer_types(blis__config *config, const blis__sizes *sizes, int64_t layer,
                           blis_attention_kind *kind) {
  static const char *const KEYS[] = {"layer_types", "layers_block_type"};
  (void)sizes;
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    if (has_list(config, KEYS[i]) && !blis__config_has(config, "compress_ratios")) {
      const char *word = blis__text_of(item_of(config, KEYS[i], layer));
      *kind = config->status == BLIS_OK ? kind_of_word(config, KEYS[i], word) : BLIS_ATTENTION_NONE;
      if (blis__config_is(config, "deepseek_v4") && *kind == BLIS_ATTENTION_WINDOW) {
        *kind = BLIS_ATTENTION_COMPRESSED; /* only the window that every layer has */
      }
      return true;
    }
  }
  return false;
}

static bool by_block_configs(blis__config *config, const blis__sizes *sizes, int64_t layer,
                             blis_attention_kind *kind) {
  (void)sizes;
  if (!has_list(config, "block_configs")) {
    return false;
  }
  blis_json_value attention =
      blis_json_member(item_of(config, "block_configs", layer), "attention");
  bool flag = false;
  *kind = BLIS_ATTENTION_FULL;
  if (blis_json_bool(blis_json_member(attention, "no_op"), &flag, NULL) == BLIS_OK && flag) {
    *kind = BLIS_ATTENTION_NONE;
  } else if (blis_json_bool(blis_json_member(attention, "replace_with_linear"), &flag, NULL) ==
                 BLIS_OK &&
             flag) {
    *kind = BLIS_ATTENTION_MATRIX;
  }
  return true;
}

static bool by_single_parts(blis__config *config, const blis__sizes *sizes, int64_t layer,
                            blis_attention_kind *kind) {
  (void)sizes;
  if (!blis__has_single_parts(config)) {
    return false;
  }
  char part = blis__single_part(config, layer);
  *kind = part == 'M'   ? BLIS_ATTENTION_MAMBA2
          : part == '*' ? BLIS_ATTENTION_FULL
                        : BLIS_ATTENTION_NONE;
  return true;
}

static bool by_numbers(blis__config *config, const blis__sizes *sizes, int64_t layer,
                       blis_attention_kind *kind) {
  static const struct {
    const char *key;
    blis_attention_kind zero;
    blis_attention_kind other;
  } LISTS[] = {
      {"hybrid_layer_pattern", BLIS_ATTENTION_FULL, BLIS_ATTENTION_WINDOW},
      {"attn_type_list", BLIS_ATTENTION_LIGHTNING, BLIS_ATTENTION_FULL},
      {"compress_ratios", BLIS_ATTENTION_COMPRESSED, BLIS_ATTENTION_COMPRESSED},
  };
  (void)sizes;
  for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
    if (has_list(config, LISTS[i].key)) {
      int64_t number = number_at(config, LISTS[i].key, layer);
      *kind = number == 0 ? LISTS[i].zero : LISTS[i].other;
      return true;
    }
  }
  return false;
}

/* Kimi Linear counts layers from 1; files that list a layer 0 count from 0. */
static bool by_linear_config(blis__config *config, const blis__sizes *sizes, int64_t layer,
                             blis_attention_kind *kind) {
  blis_json_value linear = blis__config_member(config, "linear_attn_config");
  blis_json_value kda = blis_json_member(linear, "kda_layers");
  blis_json_value full = blis_json_member(linear, "full_attn_layers");
  (void)sizes;
  if (blis_json_count(kda) == 0) {
    return false;
  }
  int64_t number = lists_number(kda, 0) || lists_number(full, 0) ? layer : layer + 1;
  *kind = BLIS_ATTENTION_FULL;
  if (lists_number(kda, number)) {
    *kind = BLIS_ATTENTION_KDA;
  } else if (!lists_number(full, number)) {
    blis__config_fail(config,
                      "linear_attn_config: layer %" PRId64 " is in neither kda_layers nor "
                      "full_attn_layers",
                      number);
  }
  return true;
}

/* Every n-th layer has full attention. */
static bool by_period(blis__config *config, const blis__sizes *sizes, int64_t layer,
                      blis_attention_kind *kind) {
  int64_t interval = blis__config_whole(config, BLIS__KEYS("full_attention_interval"));
  if (interval > 0) {
    *kind = (layer + 1) % interval == 0 ? BLIS_ATTENTION_FULL : linear_kind(config);
    return true;
  }
  interval = blis__config_whole(config, BLIS__KEYS("layer_group_size"));
  if (interval > 1 && blis__config_is(config, "bailing")) {
    /* Layers after the last complete group also have full attention. */
    bool is_full = (layer + 1) % interval == 0 || layer >= sizes->layers / interval * interval;
    *kind = is_full ? BLIS_ATTENTION_FULL : linear_kind(config);
    return true;
  }
  interval = blis__config_whole(config, BLIS__KEYS("attn_layer_period"));
  if (interval > 0) {
    int64_t offset = blis__whole_of(blis__config_member(config, "attn_layer_offset"), 4);
    *kind = layer % interval == offset ? BLIS_ATTENTION_FULL : BLIS_ATTENTION_MAMBA1;
    return true;
  }
  return false;
}

/* Bamba: a list of layers with attention. Without this list, no layer has attention. */
static bool by_attention_indices(blis__config *config, const blis__sizes *sizes, int64_t layer,
                                 blis_attention_kind *kind) {
  static const char key[] = "attn_layer_indices";
  (void)sizes;
  if (!blis__config_is(config, "bamba") && !has_list(config, key)) {
    return false;
  }
  bool is_full = lists_number(blis__config_member(config, key), layer);
  *kind = is_full ? BLIS_ATTENTION_FULL : BLIS_ATTENTION_MAMBA2;
  return true;
}

static bool by_state_space_type(blis__config *config, const blis__sizes *sizes, int64_t layer,
                                blis_attention_kind *kind) {
  static const struct {
    const char *type;
    blis_attention_kind kind;
  } TYPES[] = {{"falcon_h1", BLIS_ATTENTION_PARALLEL},
               {"mamba2", BLIS_ATTENTION_MAMBA2},
               {"mamba", BLIS_ATTENTION_MAMBA1},
               {"falcon_mamba", BLIS_ATTENTION_MAMBA1}};
  (void)sizes;
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (strcmp(config->type, TYPES[i].type) == 0) {
      *kind = TYPES[i].kind;
      return true;
    }
  }
  if (blis__config_is(config, "lfm2") && has_list(config, "full_attn_idxs")) {
    bool is_full = lists_number(blis__config_member(config, "full_attn_idxs"), layer);
    *kind = is_full ? BLIS_ATTENTION_FULL : BLIS_ATTENTION_SHORT_CONV;
    return true;
  }
  return false;
}

static bool by_latent_rank(blis__config *config, const blis__sizes *sizes, int64_t layer,
                           blis_attention_kind *kind) {
  (void)sizes;
  (void)layer;
  *kind = BLIS_ATTENTION_FULL;
  return blis__config_whole(config, BLIS__KEYS("kv_lora_rank")) > 0;
}

static bool has_windows(const blis__config *config) {
  return blis__config_flag(config, "use_sliding_window", true);
}

/* A period of windows, as a number or as letters (L = local, G = global). */
static bool by_window_pattern(blis__config *config, const blis__sizes *sizes, int64_t layer,
                              blis_attention_kind *kind) {
  static const char *const KEYS[] = {"sliding_window_pattern", "_sliding_window_pattern",
                                     "global_attn_every_n_layers"};
  (void)sizes;
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && has_windows(config); i++) {
    blis_json_value value = blis__config_member(config, KEYS[i]);
    const char *letters = blis__text_of(value);
    int64_t period = blis__whole_of(value, 0);
    if (letters[0] != '\0') {
      char letter = letters[(size_t)layer % strlen(letters)];
      if (letter != 'L' && letter != 'G') {
        blis__config_fail(config, "%s: unknown letter '%c'; expected L or G", KEYS[i], letter);
      }
      *kind = letter == 'L' ? BLIS_ATTENTION_WINDOW : BLIS_ATTENTION_FULL;
      return true;
    }
    if (period > 0) {
      *kind = (layer + 1) % period == 0 ? BLIS_ATTENTION_FULL : BLIS_ATTENTION_WINDOW;
      return true;
    }
  }
  return false;
}

/* Families whose class alternates the kinds of layers. */
static bool by_alternating_type(blis__config *config, const blis__sizes *sizes, int64_t layer,
                                blis_attention_kind *kind) {
  static const struct {
    const char *type;
    int64_t period; /* the last layer of each period is full */
  } TYPES[] = {{"gemma3n", 5}, {"gemma3", 6}, {"gemma4", 6}, {"cohere2", 4},
               {"olmo3", 4},   {"gemma2", 2}, {"gpt_oss", 2}};
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES && has_windows(config); i++) {
    if (blis__config_is(config, TYPES[i].type)) {
      bool is_last = blis__config_is(config, "gemma4") && layer == sizes->layers - 1;
      bool is_full = (layer + 1) % TYPES[i].period == 0 || is_last;
      *kind = is_full ? BLIS_ATTENTION_FULL : BLIS_ATTENTION_WINDOW;
      return true;
    }
  }
  if (!blis__config_is(config, "llama4")) {
    return false;
  }
  if (has_list(config, "no_rope_layers")) {
    bool is_full = number_at(config, "no_rope_layers", layer) == 0;
    *kind = is_full ? BLIS_ATTENTION_FULL : BLIS_ATTENTION_CHUNK;
  } else {
    *kind = (layer + 1) % 4 == 0 ? BLIS_ATTENTION_FULL : BLIS_ATTENTION_CHUNK;
  }
  return true;
}

/* A repeating list of windows (params.json). A number is a window, and null means no window. */
static bool by_window_list(blis__config *config, const blis__sizes *sizes, int64_t layer,
                           blis_attention_kind *kind) {
  (void)sizes;
  if (!has_list(config, "sliding_window")) {
    return false;
  }
  blis_json_value list = blis__config_member(config, "sliding_window");
  blis_json_value item = blis_json_item(list, (size_t)layer % blis_json_count(list));
  *kind = blis__whole_of(item, 0) > 0 ? BLIS_ATTENTION_WINDOW : BLIS_ATTENTION_FULL;
  return true;
}

/* One window for the whole model. */
static bool by_window_alone(blis__config *config, const blis__sizes *sizes, int64_t layer,
                            blis_attention_kind *kind) {
  int64_t window = blis__config_whole(config, BLIS__KEYS("sliding_window"));
  bool is_short = window > 0 && (sizes->max_tokens == 0 || window < sizes->max_tokens);
  if (!is_short || !has_windows(config)) {
    return false;
  }
  if (blis__config_is(config, "qwen2") || blis__config_is(config, "qwen3")) {
    int64_t first = blis__whole_of(blis__config_member(config, "max_window_layers"), 0);
    bool is_window = blis__config_flag(config, "use_sliding_window", false) && layer >= first;
    *kind = is_window ? BLIS_ATTENTION_WINDOW : BLIS_ATTENTION_FULL;
    return true;
  }
  *kind = BLIS_ATTENTION_WINDOW;
  return blis__config_is(config, "mistral") || blis__config_is(config, "mixtral") ||
         blis__config_is(config, "phi3") || blis__config_is(config, "phimoe") ||
         blis__config_is(config, "starcoder2") || blis__config_is(config, "ministral");
}

blis_attention_kind blis__layer_kind(blis__config *config, const blis__sizes *sizes,
                                     int64_t layer) {
  static kind_rule *const RULES[] = {
      by_single_parts,  by_layer_types,       by_block_configs,  by_numbers,
      by_linear_config, by_attention_indices, by_period,         by_state_space_type,
      by_latent_rank,   by_window_list,       by_window_pattern, by_alternating_type,
      by_window_alone,
  };
  blis_attention_kind kind = BLIS_ATTENTION_FULL;
  for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
    if (RULES[i](config, sizes, layer, &kind)) {
      return kind;
    }
  }
  return BLIS_ATTENTION_FULL;
}
