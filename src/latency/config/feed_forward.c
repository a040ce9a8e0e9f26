#include "latency/config/feed_forward.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "latency/config/layer_kinds.h"
#include "latency/config/layer_reader.h"
#include "latency/spec/names.h"

static bool is_type(const blis__layer_reader *r, const char *prefix) {
  return blis__config_is(r->config, prefix);
}

static bool is_one_of(const blis__layer_reader *r, const char *const *types, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(r->config->type, types[i]) == 0) {
      return true;
    }
  }
  return false;
}

/*
 * Returns the number of matrices: two for families whose feed-forward layers have no gate. The name
 * of the activation does not determine this.
 */
static int64_t matrices_of(const blis__layer_reader *r) {
  static const char *const PLAIN[] = {"nemotron_h", "nemotron",    "gpt2", "opt",      "bloom",
                                      "falcon",     "starcoder2",  "phi",  "gpt_neox", "gptj",
                                      "codegen",    "gpt_bigcode", "mpt",  "arcee",    "apertus",
                                      "persimmon",  "gpt_neo"};
  return is_one_of(r, PLAIN, sizeof PLAIN / sizeof *PLAIN) ? 2 : 3;
}

/* Experts. */

#define EXPERT_COUNTS                                                                              \
  BLIS__KEYS("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts",            \
             "num_routed_experts")
#define EXPERTS_PER_TOKEN                                                                          \
  BLIS__KEYS("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k",     \
             "top_k_experts", "experts_per_token")

/* Stores an error if the file has sizes of experts but no key for their number. */
static void need_no_experts(const blis__layer_reader *r) {
  for (const char *const *key = EXPERT_COUNTS->names; *key != NULL; key++) {
    if (blis__config_states(r->config, *key) || blis__config_has(r->config, *key)) {
      return;
    }
  }
  int64_t width = blis__layer_size(r, BLIS__KEYS("moe_intermediate_size"));
  if (width > 0 || blis__layer_size(r, EXPERTS_PER_TOKEN) > 0) {
    blis__config_fail(r->config,
                      "num_experts is missing, but %s is stated (model_type %.60s); 0 states that "
                      "there are none",
                      width > 0 ? "moe_intermediate_size" : "num_experts_per_tok",
                      r->config->type[0] != '\0' ? r->config->type : "not stated");
  }
}

static int64_t expert_count(const blis__layer_reader *r) {
  int64_t experts = blis__layer_size(r, EXPERT_COUNTS);
  if (experts == 0) {
    need_no_experts(r);
  }
  return experts >= 2 ? experts : 0;
}

/* Returns whether the files of this family always contain the width of experts. */
static bool states_expert_width(const blis__layer_reader *r) {
  static const char *const TYPES[] = {"qwen",   "deepseek",   "glm",    "kimi",       "ernie4_5",
                                      "laguna", "step3",      "mimo",   "nemotron_h", "bailing",
                                      "afmoe",  "exaone_moe", "gemma4", "solar",      "longcat",
                                      "dots",   "git",        "lfm2"};
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (is_type(r, TYPES[i])) {
      return true;
    }
  }
  return blis__config_has(r->config, "n_routed_experts");
}

static int64_t dense_width(const blis__layer_reader *r) {
  return blis__layer_size(r, BLIS__KEYS("intermediate_size", "ffn_hidden_size", "n_inner",
                                        "ffn_dim", "block_ff_dim", "hidden_dim"));
}

static int64_t expert_width(const blis__layer_reader *r) {
  int64_t width =
      blis__layer_size(r, BLIS__KEYS("moe_intermediate_size", "expert_intermediate_size",
                                     "expert_ffn_hidden_size", "expert_hidden_dim"));
  if (width == 0 && !states_expert_width(r)) {
    width = dense_width(r);
  }
  blis__config_require(r->config, "moe_intermediate_size", width);
  return width;
}

/* Returns the total width of all shared experts. */
static int64_t shared_width(const blis__layer_reader *r, int64_t width_of_expert) {
  int64_t width =
      blis__layer_size(r, BLIS__KEYS("shared_expert_intermediate_size",
                                     "moe_shared_expert_intermediate_size", "share_expert_dim"));
  bool is_granite = is_type(r, "granitemoe");
  if (is_granite) {
    width = blis__layer_size(r, BLIS__KEYS("shared_intermediate_size"));
  }
  if (width > 0 || is_granite) {
    return width;
  }
  if (is_type(r, "llama4")) {
    return dense_width(r);
  }
  int64_t count = blis__layer_size(r, BLIS__KEYS("n_shared_experts", "num_shared_experts",
                                                 "moe_num_shared_experts", "num_shared_expert"));
  int64_t own = blis__layer_size(r, BLIS__KEYS("shared_intermediate_size"));
  return count * (own > 0 ? own : width_of_expert);
}

static blis_ffn read_experts(const blis__layer_reader *r, int64_t experts) {
  int64_t width = expert_width(r);
  return (blis_ffn){
      .kind = BLIS_FFN_MOE,
      .matrices = matrices_of(r),
      .experts = experts,
      .experts_per_token = blis__layer_size(r, EXPERTS_PER_TOKEN),
      .expert_width = width,
      .latent_width =
          blis__layer_size(r, BLIS__KEYS("moe_latent_size", "routed_expert_hidden_size")),
      .shared_width = shared_width(r, width),
      .has_shared_gate = is_type(r, "qwen"),
      .has_expert_biases = is_type(r, "gpt_oss"),
  };
}

/* Dense layers. */

/* Returns the width for LFM2: two thirds of the stated width, rounded up. */
static int64_t adjusted_width(const blis__layer_reader *r, int64_t width) {
  bool is_adjusted = is_type(r, "lfm2") &&
                     blis__config_flag(r->config, "block_auto_adjust_ff_dim", true) &&
                     !is_type(r, "lfm2_moe");
  if (!is_adjusted) {
    return width;
  }
  int64_t step = blis__layer_size(r, BLIS__KEYS("block_multiple_of"));
  double factor = blis__number_of(blis__config_member(r->config, "block_ffn_dim_multiplier"));
  double third = floor(2.0 * (double)width / 3.0);
  double scaled = floor(third * (factor > 0.0 && factor < 1e6 ? factor : 1.0));
  return step > 0 ? (int64_t)ceil(scaled / (double)step) * step : (int64_t)scaled;
}

/*
 * Returns whether the feed-forward layers of this family are by default four times as wide as the
 * hidden state.
 */
static bool is_four_times(const blis__layer_reader *r) {
  static const char *const TYPES[] = {"gpt2",        "bloom", "falcon", "gptj",
                                      "gpt_bigcode", "mpt",   "codegen"};
  return is_one_of(r, TYPES, sizeof TYPES / sizeof *TYPES);
}

static blis_ffn read_dense(const blis__layer_reader *r, bool is_moe_model) {
  int64_t width = 0;
  if (is_moe_model) {
    width = blis__layer_size(
        r, BLIS__KEYS("dense_intermediate_size", "intermediate_size_mlp", "dense_ffn_hidden"));
  }
  if (width == 0 && is_type(r, "granitemoe")) {
    width = blis__layer_size(r, BLIS__KEYS("shared_intermediate_size"));
  }
  if (width == 0) {
    width = dense_width(r);
  }
  if (width == 0 && is_four_times(r)) {
    width = 4 * r->sizes->hidden;
  }
  blis__config_require(r->config, "intermediate_size", width);
  int64_t shared = blis__config_whole(r->config, BLIS__KEYS("num_kv_shared_layers"));
  bool is_double = blis__config_flag(r->config, "use_double_wide_mlp", false) && shared > 0 &&
                   r->layer >= r->sizes->layers - shared;
  return (blis_ffn){.kind = BLIS_FFN_DENSE,
                    .width = adjusted_width(r, width) * (is_double ? 2 : 1),
                    .matrices = matrices_of(r)};
}

/* Reads a block of a model found by architecture search (Nemotron). */
static blis_ffn read_block(const blis__layer_reader *r) {
  blis_json_value block =
      blis_json_item(blis__config_member(r->config, "block_configs"), (size_t)r->layer);
  blis_json_value ffn = blis_json_member(block, "ffn");
  bool flag = false;
  if (blis_json_bool(blis_json_member(ffn, "no_op"), &flag, NULL) == BLIS_OK && flag) {
    return (blis_ffn){.kind = BLIS_FFN_NONE};
  }
  int64_t hidden = r->sizes->hidden;
  int64_t width = blis__whole_of(blis_json_member(ffn, "intermediate_size"), 0);
  double factor = blis__number_of(blis_json_member(ffn, "ffn_mult"));
  if (width <= 0 && factor > 0.0 && factor < 1e6) {
    width = ((int64_t)(2.0 * factor * (double)hidden / 3.0) + 255) / 256 * 256;
  }
  if (blis_json_bool(blis_json_member(ffn, "replace_with_linear"), &flag, NULL) == BLIS_OK &&
      flag) {
    return (blis_ffn){.kind = BLIS_FFN_DENSE, .width = hidden, .matrices = 1};
  }
  blis__config_require(r->config, "block_configs.ffn.ffn_mult", width);
  return (blis_ffn){.kind = BLIS_FFN_DENSE, .width = width, .matrices = matrices_of(r)};
}

/* Rules that determine which layers have experts. A rule returns whether it applies. */
typedef bool moe_rule(const blis__layer_reader *r, bool *has_experts);

static bool lists_layer(const blis__layer_reader *r, const char *key) {
  blis_json_value list = blis__config_member(r->config, key);
  for (size_t i = 0; i < blis_json_count(list); i++) {
    if (blis__whole_of(blis_json_item(list, i), -1) == r->layer) {
      return true;
    }
  }
  return false;
}

static bool by_words(const blis__layer_reader *r, bool *has_experts) {
  blis_json_value list = blis__config_member(r->config, "mlp_layer_types");
  if (blis_json_count(list) == 0) {
    return false;
  }
  const char *word = blis__text_of(blis_json_item(list, (size_t)r->layer));
  *has_experts =
      strcmp(word, "sparse") == 0 || strcmp(word, "moe") == 0 || strcmp(word, "hash_moe") == 0;
  if (!*has_experts && strcmp(word, "dense") != 0) {
    blis__config_fail(r->config,
                      "mlp_layer_types: item %" PRId64 " must be dense or sparse, got '%.40s'",
                      r->layer + 1, word);
  }
  return true;
}

/* A list of layers, or a string of comma-separated numbers. */
static bool by_enumeration(const blis__layer_reader *r, bool *has_experts) {
  blis_json_value list = blis__config_member(r->config, "moe_layers_enum");
  const char *text = blis__text_of(list);
  *has_experts = lists_layer(r, "moe_layers_enum");
  for (const char *at = text; *at != '\0';) {
    char *end = NULL;
    long layer = strtol(at, &end, 10);
    *has_experts |= end != at && layer == r->layer;
    at = end != at ? end : at + 1;
  }
  return text[0] != '\0' || blis_json_count(list) > 0;
}

/* A list of 0 and 1, as integers or flags. */
static bool by_frequencies(const blis__layer_reader *r, bool *has_experts) {
  static const char *const KEYS[] = {"moe_layer_freq", "is_moe_layer"};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    blis_json_value list = blis__config_member(r->config, KEYS[i]);
    if (blis_json_type_of(list) != BLIS_JSON_ARRAY || blis_json_count(list) == 0) {
      continue;
    }
    blis_json_value item = blis_json_item(list, (size_t)r->layer);
    bool flag = false;
    int64_t number = blis__whole_of(item, -1);
    if (blis_json_bool(item, &flag, NULL) != BLIS_OK && number != 0 && number != 1) {
      blis__config_fail(r->config, "%s: item %" PRId64 " must be 0 or 1", KEYS[i], r->layer + 1);
    }
    *has_experts = flag || number == 1;
    return true;
  }
  return false;
}

static bool by_first_dense(const blis__layer_reader *r, bool *has_experts) {
  int64_t first = blis__layer_size(
      r, BLIS__KEYS("first_k_dense_replace", "num_dense_layers", "n_dense_first_layers"));
  *has_experts = r->layer >= first;
  return first > 0 && r->layer < first;
}

static bool by_interleaving(const blis__layer_reader *r, bool *has_experts) {
  if (!is_type(r, "llama4") && !blis__config_has(r->config, "interleave_moe_layer_step")) {
    return false;
  }
  if (blis_json_count(blis__config_member(r->config, "moe_layers")) > 0) {
    *has_experts = lists_layer(r, "moe_layers");
    return true;
  }
  int64_t step = blis__layer_size(r, BLIS__KEYS("interleave_moe_layer_step"));
  *has_experts = step > 0 && (r->layer + 1) % step == 0;
  return true;
}

/* ERNIE: layers at a fixed interval between a first and a last layer. Lists are [text, vision]. */
static bool by_interval(const blis__layer_reader *r, bool *has_experts) {
  int64_t by_class = blis__config_has(r->config, "moe_layer_start_index")
                         ? 0
                         : blis__layer_size(r, BLIS__KEYS("moe_layer_start_index"));
  if (by_class == 0 && !blis__config_has(r->config, "moe_layer_start_index")) {
    return false;
  }
  blis_json_value start = blis__config_member(r->config, "moe_layer_start_index");
  blis_json_value end = blis__config_member(r->config, "moe_layer_end_index");
  int64_t first = blis__whole_of(
      blis_json_type_of(start) == BLIS_JSON_ARRAY ? blis_json_item(start, 0) : start, by_class);
  int64_t last =
      blis__whole_of(blis_json_type_of(end) == BLIS_JSON_ARRAY ? blis_json_item(end, 0) : end, -1);
  int64_t interval = blis__layer_size(r, BLIS__KEYS("moe_layer_interval"));
  interval = interval > 0 ? interval : 1;
  last = last < 0 ? r->sizes->layers - 1 : last;
  *has_experts = r->layer >= first && r->layer <= last && (r->layer + 1) % interval == 0;
  return true;
}

static bool by_periods(const blis__layer_reader *r, bool *has_experts) {
  if (lists_layer(r, "mlp_only_layers")) {
    *has_experts = false;
    return true;
  }
  int64_t step = blis__layer_size(r, BLIS__KEYS("decoder_sparse_step"));
  if (step > 1) {
    *has_experts = (r->layer + 1) % step == 0;
    return true;
  }
  int64_t period = blis__layer_size(r, BLIS__KEYS("expert_layer_period"));
  if (period > 0) {
    int64_t offset = blis__whole_of(blis__config_member(r->config, "expert_layer_offset"), 1);
    *has_experts = r->layer % period == offset;
    return true;
  }
  int64_t frequency =
      blis__layer_size(r, BLIS__KEYS("moe_layer_freq", "moe_layer_frequency", "route_every_n"));
  if (frequency > 1) {
    *has_experts = r->layer % frequency == 0;
    return true;
  }
  return false;
}

static bool has_experts_here(const blis__layer_reader *r) {
  static moe_rule *const RULES[] = {by_words,        by_enumeration, by_frequencies, by_first_dense,
                                    by_interleaving, by_interval,    by_periods};
  for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
    bool has_experts = true;
    if (RULES[i](r, &has_experts)) {
      return has_experts;
    }
  }
  return true;
}

/* Returns whether a layer has a dense and a routed part whose outputs are added. */
static bool adds_dense(const blis__layer_reader *r) {
  return (is_type(r, "gemma4") && blis__config_flag(r->config, "enable_moe_block", false)) ||
         blis__config_flag(r->config, "residual_moe", false) ||
         (is_type(r, "longcat_flash") && r->layer % 2 == 0);
}

static blis_ffn read_single_part(const blis__layer_reader *r) {
  switch (blis__single_part(r->config, r->layer)) {
  case '-':
    return read_dense(r, false);
  case 'E': {
    int64_t experts = expert_count(r);
    blis__config_require(r->config, "n_routed_experts", experts);
    return read_experts(r, experts);
  }
  default:
    return (blis_ffn){.kind = BLIS_FFN_NONE};
  }
}

static bool is_pure_state_space(const blis__layer_reader *r) {
  static const char *const TYPES[] = {"mamba", "mamba2", "falcon_mamba"};
  return is_one_of(r, TYPES, sizeof TYPES / sizeof *TYPES);
}

blis_ffn blis__ffn_read(blis__config *config, const blis__sizes *sizes, int64_t layer) {
  const blis__layer_reader r = {config, sizes, layer};
  if (blis__has_single_parts(config)) {
    return read_single_part(&r);
  }
  if (is_pure_state_space(&r)) {
    return (blis_ffn){.kind = BLIS_FFN_NONE};
  }
  if (blis_json_count(blis__config_member(config, "block_configs")) > 0) {
    return read_block(&r);
  }
  int64_t experts = expert_count(&r);
  bool is_pair = blis__config_is(config, "longcat_flash");
  if (experts == 0 || (is_pair && layer % 2 == 1) || (!is_pair && !has_experts_here(&r))) {
    return read_dense(&r, experts > 0);
  }
  blis_ffn ffn = read_experts(&r, experts);
  if (adds_dense(&r)) {
    ffn.kind = BLIS_FFN_MOE_DENSE;
    ffn.width = read_dense(&r, false).width;
  }
  return ffn;
}
