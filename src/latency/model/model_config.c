#include "latency/model/model_config.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/json.h"
#include "base/number.h"
#include "latency/spec/names.h"

enum {
  KEYS_MAX = 3,
  FILE_SIZE_MAX = 16 << 20,
  DIGITS_MAX = 4 /* more digits than any precision has */
};

typedef struct config_tree {
  const char *source; /* for messages */
  blis_json_value root;
  blis_json_value text; /* text_config, or missing */
} config_tree;

/* The first key with a nonzero number is used. */
static const struct {
  size_t offset;
  const char *keys[KEYS_MAX];
} INTEGERS[] = {
    {offsetof(blis_model_spec, layers), {"num_hidden_layers"}},
    {offsetof(blis_model_spec, hidden_size), {"hidden_size"}},
    {offsetof(blis_model_spec, attention_heads), {"num_attention_heads"}},
    {offsetof(blis_model_spec, kv_heads),
     {"num_key_value_heads", "num_kv_heads", "multi_query_group_num"}},
    {offsetof(blis_model_spec, vocab_size), {"vocab_size"}},
    {offsetof(blis_model_spec, intermediate_size), {"intermediate_size", "ffn_hidden_size"}},
    {offsetof(blis_model_spec, head_dim), {"head_dim"}},
    {offsetof(blis_model_spec, experts_per_token), {"num_experts_per_tok"}},
    {offsetof(blis_model_spec, expert_intermediate_size), {"moe_intermediate_size"}},
    {offsetof(blis_model_spec, shared_expert_intermediate_size),
     {"shared_expert_intermediate_size"}},
    {offsetof(blis_model_spec, interleave_moe_layer_step), {"interleave_moe_layer_step"}},
    {offsetof(blis_model_spec, dense_intermediate_size), {"intermediate_size_mlp"}},
    {offsetof(blis_model_spec, first_k_dense_replace), {"first_k_dense_replace"}},
    {offsetof(blis_model_spec, kv_lora_rank), {"kv_lora_rank"}},
    {offsetof(blis_model_spec, qk_rope_head_dim), {"qk_rope_head_dim"}},
};

/* Returns a member, from text_config if present. */
static blis_json_value member_of(const config_tree *config, const char *key) {
  blis_json_value value = blis_json_member(config->text, key);
  return blis_json_type_of(value) == BLIS_JSON_MISSING ? blis_json_member(config->root, key)
                                                       : value;
}

/* Returns a number; 0 for other types. */
static double number_of(blis_json_value value) {
  double number = 0.0;
  return blis_json_double(value, -DBL_MAX, DBL_MAX, &number, NULL) == BLIS_OK ? number : 0.0;
}

/* Returns a number truncated toward zero; 0 for other types. */
static int64_t truncated(blis_json_value value) {
  int64_t whole = 0;
  if (blis_json_int64(value, INT64_MIN, INT64_MAX, &whole, NULL) == BLIS_OK) {
    return whole;
  }
  double number = number_of(value);
  if (number >= 0x1p62) {
    return INT64_MAX;
  }
  return number <= -0x1p62 ? INT64_MIN : (int64_t)number;
}

/* Returns a string; "" for values of other types. */
static const char *text_of(blis_json_value value) {
  blis_slice text;
  return blis_json_text(value, &text, NULL) == BLIS_OK ? text.data : "";
}

static blis_status check_range(const config_tree *config, const char *key, int64_t value,
                               blis_error *error) {
  if (value < 0 || value > INT32_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s must be from 0 to %" PRId32 ", got %" PRId64,
                     config->source, key, INT32_MAX, value);
  }
  return BLIS_OK;
}

static blis_status read_integers(const config_tree *config, blis_model_spec *spec,
                                 blis_error *error) {
  for (size_t i = 0; i < sizeof INTEGERS / sizeof *INTEGERS; i++) {
    int64_t value = 0;
    for (int j = 0; j < KEYS_MAX && value == 0; j++) {
      const char *key = INTEGERS[i].keys[j];
      if (key == NULL) {
        break;
      }
      value = truncated(member_of(config, key));
      BLIS_TRY(check_range(config, key, value, error));
    }
    memcpy((char *)spec + INTEGERS[i].offset, &value, sizeof value);
  }
  return BLIS_OK;
}

static blis_status require(const config_tree *config, const char *key, int64_t value,
                           blis_error *error) {
  if (value > 0) {
    return BLIS_OK;
  }
  bool is_there = blis_json_has(member_of(config, key));
  return blis_fail(error, BLIS_ERR_INVALID, "%s: %s %s", config->source, key,
                   is_there ? "must be a positive number" : "is missing");
}

static blis_status read_compute_type(const config_tree *config, blis_model_spec *spec,
                                     blis_error *error) {
  static const struct {
    const char *name;
    double bytes;
  } TYPES[] = {{"float32", 4.0}, {"float16", 2.0}, {"bfloat16", 2.0}, {"int8", 1.0},
               {"uint8", 1.0},   {"fp8", 1.0},     {"int4", 1.0},     {"nf4", 1.0}};
  const char *key = "torch_dtype";
  blis_json_value value = member_of(config, key);
  if (blis_json_type_of(value) != BLIS_JSON_TEXT) {
    value = member_of(config, "dtype");
  }
  const char *type = text_of(value);
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (strcmp(type, TYPES[i].name) == 0) {
      spec->bytes_per_param = TYPES[i].bytes;
      return BLIS_OK;
    }
  }
  if (type[0] == '\0') {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: torch_dtype (or dtype) is missing",
                     config->source);
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: unknown torch_dtype '%.40s'; expected float32, "
                   "float16, bfloat16, int8, uint8, fp8, int4 or nf4",
                   config->source, type);
}

/* Reads the number of experts, at least two, under one of the names that publishers use. */
static blis_status read_experts(const config_tree *config, blis_model_spec *spec,
                                blis_error *error) {
  static const char *const KEYS[] = {"num_experts", "moe_num_experts", "n_routed_experts",
                                     "num_local_experts", "num_routed_experts"};
  bool is_stated = false;
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    blis_json_value value = member_of(config, KEYS[i]);
    int64_t experts = truncated(value);
    is_stated |= experts == 1;
    if (experts >= 2 && spec->experts == 0) {
      BLIS_TRY(check_range(config, KEYS[i], experts, error));
      spec->experts = experts;
    }
  }
  int64_t shared = truncated(member_of(config, "n_shared_experts"));
  BLIS_TRY(check_range(config, "n_shared_experts", shared, error));
  if (spec->experts == 0) {
    spec->experts_unknown = !is_stated && (shared > 0 || spec->experts_per_token > 0);
    spec->experts_per_token = 0;
  } else {
    BLIS_TRY(require(config, "num_experts_per_tok", spec->experts_per_token, error));
  }
  if (spec->shared_expert_intermediate_size == 0 && shared > 0) {
    int64_t width = spec->expert_intermediate_size > 0 ? spec->expert_intermediate_size
                                                       : spec->intermediate_size;
    spec->shared_expert_intermediate_size = shared * width;
    BLIS_TRY(check_range(config, "n_shared_experts times their width", shared * width, error));
  }
  return BLIS_OK;
}

/* The longest sequence. */

static const int64_t TOKENS_MAX = INT64_C(1) << 53;

/* Returns whether the stated sequence length already includes this kind of scaling. */
static bool is_included(const char *type) {
  return strcmp(type, "su") == 0 || strcmp(type, "longrope") == 0 || strcmp(type, "llama3") == 0;
}

/*
 * Applies rope_scaling like vLLM 0.11: a factor on the stated length or, for yarn, on the original
 * training length of the model.
 */
static int64_t scale(const config_tree *config, int64_t tokens) {
  blis_json_value rope = member_of(config, "rope_scaling");
  double factor = number_of(blis_json_member(rope, "factor"));
  const char *type = text_of(blis_json_member(rope, "type"));
  if (type[0] == '\0') {
    type = text_of(blis_json_member(rope, "rope_type"));
  }
  const char *model = text_of(member_of(config, "model_type"));
  if (!(factor > 1.0) || is_included(type) || strstr(model, "gemma3") != NULL) {
    return tokens;
  }
  int64_t original = truncated(blis_json_member(rope, "original_max_position_embeddings"));
  bool is_yarn = strcmp(type, "yarn") == 0 && original > 0;
  double scaled = (double)(is_yarn ? original : tokens) * factor;
  return scaled < (double)TOKENS_MAX ? (int64_t)scaled : tokens;
}

static blis_status read_context(const config_tree *config, blis_model_spec *spec,
                                blis_error *error) {
  const char *key = "max_position_embeddings";
  int64_t tokens = truncated(member_of(config, key));
  if (tokens < 0 || tokens > TOKENS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s must be from 0 to 2^53, got %" PRId64,
                     config->source, key, tokens);
  }
  spec->max_model_tokens = tokens == 0 ? 0 : scale(config, tokens);
  return BLIS_OK;
}

/* Precision. */

static int64_t stated_bits(blis_json_value bits) {
  blis_slice text;
  int64_t value;
  if (blis_json_text(bits, &text, NULL) == BLIS_OK) {
    return blis_parse_int64(text, &value) == BLIS_NUMBER_OK ? value : 0;
  }
  return truncated(bits);
}

/*
 * Returns the bits of the first group, in the order of names, that contains the bits of its
 * weights.
 */
static double group_bits(blis_json_value groups) {
  const char *best = NULL;
  double best_bits = 0.0;
  const char *key = NULL;
  blis_json_value group;
  while (blis_json_next(groups, &key, &group)) {
    blis_json_value weights = blis_json_member(group, "weights");
    int64_t bits = truncated(blis_json_member(weights, "num_bits"));
    if (bits > 0 && (best == NULL || strcmp(key, best) < 0)) {
      best = key;
      best_bits = (double)bits;
    }
  }
  return best_bits;
}

static void read_precision(const config_tree *config, blis_model_spec *spec) {
  blis_json_value quantization = member_of(config, "quantization_config");
  const char *method = text_of(blis_json_member(quantization, "quant_method"));
  (void)snprintf(spec->quantization, sizeof spec->quantization, "%s", method);
  int64_t bits = stated_bits(blis_json_member(quantization, "bits"));
  if (bits > 0) {
    spec->weight_bytes_per_param = (double)bits / 8.0;
  } else if (blis__equal_names(method, "fp8")) {
    spec->weight_bytes_per_param = 1.0;
  } else if (blis__equal_names(method, "compressed-tensors")) {
    spec->weight_bytes_per_param =
        group_bits(blis_json_member(quantization, "config_groups")) / 8.0;
  }
}

/* All members. */

static blis_status read_members(const config_tree *config, blis_model_spec *spec,
                                blis_error *error) {
  BLIS_TRY(read_integers(config, spec, error));
  BLIS_TRY(require(config, "num_hidden_layers", spec->layers, error));
  BLIS_TRY(require(config, "hidden_size", spec->hidden_size, error));
  BLIS_TRY(require(config, "num_attention_heads", spec->attention_heads, error));
  BLIS_TRY(read_compute_type(config, spec, error));
  BLIS_TRY(read_experts(config, spec, error));
  BLIS_TRY(read_context(config, spec, error));
  read_precision(config, spec);
  (void)snprintf(spec->activation, sizeof spec->activation, "%s",
                 text_of(member_of(config, "hidden_act")));
  blis_json_value tied = member_of(config, "tie_word_embeddings");
  if (blis_json_bool(tied, &spec->tie_word_embeddings, NULL) != BLIS_OK) {
    spec->tie_word_embeddings = false;
  }
  blis_error fault;
  if (blis_model_spec_validate(spec, &fault) != BLIS_OK) {
    return blis_fail(error, BLIS_ERR_INVALID, "%.120s: %s", config->source, fault.message);
  }
  return BLIS_OK;
}

static blis_status read_tree(const char *source, const blis_json *json, const char *name,
                             blis_model_spec *spec, blis_error *error) {
  config_tree config = {.source = source, .root = blis_json_root(json)};
  BLIS_TRY(blis_json_need_object(config.root, error));
  config.text = blis_json_member(config.root, "text_config");
  blis_model_spec read = {0};
  (void)snprintf(read.name, sizeof read.name, "%s", name);
  BLIS_TRY(read_members(&config, &read, error));
  *spec = read;
  return BLIS_OK;
}

blis_status blis_model_config_parse(const blis_alloc *alloc, const char *source, blis_slice text,
                                    const char *name, blis_model_spec *spec, blis_error *error) {
  blis_json json;
  blis_json_init(&json, alloc);
  blis_json_allow_any_number(&json);
  blis_status status = blis_json_parse(&json, source, 1, text, error);
  if (status == BLIS_OK) {
    status = read_tree(source, &json, name, spec, error);
  }
  blis_json_deinit(&json);
  return status;
}

static blis_status load_file(const blis_alloc *alloc, const char *path, const char *name,
                             blis_model_spec *spec, blis_error *error) {
  blis_json json;
  blis_json_init(&json, alloc);
  blis_json_allow_any_number(&json);
  blis_status status = blis_json_read_file(&json, path, FILE_SIZE_MAX, error);
  if (status == BLIS_OK) {
    status = read_tree(path, &json, name, spec, error);
  }
  blis_json_deinit(&json);
  return status;
}

blis_status blis_model_config_load(const blis_alloc *alloc, const char *path, const char *name,
                                   blis_model_spec *spec, blis_error *error) {
  size_t size = strlen(path) + sizeof "/config.json";
  char *inside = blis_alloc_new(alloc, size);
  BLIS_TRY_NEW(inside, error);
  (void)snprintf(inside, size, "%s/config.json", path);
  blis_status status = load_file(alloc, inside, name, spec, error);
  if (status == BLIS_ERR_IO) {
    status = load_file(alloc, path, name, spec, error);
  }
  if (status == BLIS_ERR_IO) {
    status = blis_fail(error, status,
                       "no model configuration: can read neither "
                       "%.200s/config.json nor the file %.200s",
                       path, path);
  }
  blis_alloc_free(alloc, inside, size);
  return status;
}

/* Names that contain the precision. */

static bool ends_word(char c) {
  return c == '\0' || c == '.' || c == '-' || c == '_';
}

static size_t count_digits(const char *text) {
  return strspn(text, "0123456789");
}

/* Returns the weight bits of "w<digits>a<digits>" at the start of text, or 0. */
static int64_t weight_bits(const char *text) {
  size_t bits = blis__lower(text[0]) == 'w' ? count_digits(text + 1) : 0;
  if (bits == 0 || bits > DIGITS_MAX || blis__lower(text[1 + bits]) != 'a') {
    return 0;
  }
  const char *activations = text + bits + 2;
  size_t digits = count_digits(activations);
  int64_t value = 0;
  if (digits > 0 && ends_word(activations[digits])) {
    (void)blis_parse_int64((blis_slice){text + 1, bits}, &value);
  }
  return value;
}

static bool is_fp8(const char *text) {
  return blis__lower(text[0]) == 'f' && blis__lower(text[1]) == 'p' && text[2] == '8' &&
         ends_word(text[3]);
}

double blis_model_weight_bytes_from_name(const char *name) {
  bool has_fp8 = false;
  for (const char *at = name; *at != '\0'; at++) {
    bool starts_word = at == name || at[-1] == '/' || ends_word(at[-1]);
    if (!starts_word) {
      continue;
    }
    int64_t bits = weight_bits(at);
    if (bits > 0) {
      return (double)bits / 8.0;
    }
    has_fp8 |= is_fp8(at);
  }
  return has_fp8 ? 1.0 : 0.0;
}
