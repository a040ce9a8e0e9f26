#include "latency/model_config.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "latency/model_config_priv.h"

enum { KEYS_MAX = 3, FILE_SIZE_MAX = 16 << 20 };

/* The first key whose number is not 0 counts. */
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
    {offsetof(blis_model_spec, intermediate_size),
     {"intermediate_size", "ffn_hidden_size"}},
    {offsetof(blis_model_spec, head_dim), {"head_dim"}},
    {offsetof(blis_model_spec, experts_per_token), {"num_experts_per_tok"}},
    {offsetof(blis_model_spec, expert_intermediate_size),
     {"moe_intermediate_size"}},
    {offsetof(blis_model_spec, shared_expert_intermediate_size),
     {"shared_expert_intermediate_size"}},
    {offsetof(blis_model_spec, interleave_moe_layer_step),
     {"interleave_moe_layer_step"}},
    {offsetof(blis_model_spec, dense_intermediate_size),
     {"intermediate_size_mlp"}},
    {offsetof(blis_model_spec, first_k_dense_replace),
     {"first_k_dense_replace"}},
    {offsetof(blis_model_spec, kv_lora_rank), {"kv_lora_rank"}},
    {offsetof(blis_model_spec, qk_rope_head_dim), {"qk_rope_head_dim"}},
};

blis_json_value blis__config_member(const blis__config *config,
                                    const char *key) {
  blis_json_value value = blis_json_member(config->text, key);
  return blis_json_type_of(value) == BLIS_JSON_MISSING
             ? blis_json_member(config->root, key)
             : value;
}

double blis__config_number(blis_json_value value) {
  double number = 0.0;
  return blis_json_double(value, -DBL_MAX, DBL_MAX, &number, NULL) == BLIS_OK
             ? number
             : 0.0;
}

int64_t blis__config_truncated(blis_json_value value) {
  int64_t whole = 0;
  if (blis_json_int64(value, INT64_MIN, INT64_MAX, &whole, NULL) == BLIS_OK) {
    return whole;
  }
  double number = blis__config_number(value);
  if (number >= 0x1p62) {
    return INT64_MAX;
  }
  return number <= -0x1p62 ? INT64_MIN : (int64_t)number;
}

const char *blis__config_text(blis_json_value value) {
  blis_slice text;
  return blis_json_text(value, &text, NULL) == BLIS_OK ? text.data : "";
}

static blis_status check_range(const blis__config *config, const char *key,
                               int64_t value, blis_error *error) {
  if (value < 0 || value > INT32_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: %s must be from 0 to %" PRId32 ", got %" PRId64,
                     config->source, key, INT32_MAX, value);
  }
  return BLIS_OK;
}

static blis_status read_integers(const blis__config *config,
                                 blis_model_spec *spec, blis_error *error) {
  for (size_t i = 0; i < sizeof INTEGERS / sizeof *INTEGERS; i++) {
    int64_t value = 0;
    for (int j = 0; j < KEYS_MAX && value == 0; j++) {
      const char *key = INTEGERS[i].keys[j];
      if (key == NULL) {
        break;
      }
      value = blis__config_truncated(blis__config_member(config, key));
      BLIS_TRY(check_range(config, key, value, error));
    }
    memcpy((char *)spec + INTEGERS[i].offset, &value, sizeof value);
  }
  return BLIS_OK;
}

static blis_status require(const blis__config *config, const char *key,
                           int64_t value, blis_error *error) {
  if (value > 0) {
    return BLIS_OK;
  }
  bool is_there = blis_json_has(blis__config_member(config, key));
  return blis_fail(error, BLIS_ERR_INVALID, "%s: %s %s", config->source, key,
                   is_there ? "must be a positive number" : "is missing");
}

static blis_status read_compute_type(const blis__config *config,
                                     blis_model_spec *spec, blis_error *error) {
  static const struct {
    const char *name;
    double bytes;
  } TYPES[] = {{"float32", 4.0}, {"float16", 2.0}, {"bfloat16", 2.0},
               {"int8", 1.0},    {"uint8", 1.0},   {"fp8", 1.0},
               {"int4", 1.0},    {"nf4", 1.0}};
  const char *key = "torch_dtype";
  blis_json_value value = blis__config_member(config, key);
  if (blis_json_type_of(value) != BLIS_JSON_TEXT) {
    value = blis__config_member(config, "dtype");
  }
  const char *type = blis__config_text(value);
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (strcmp(type, TYPES[i].name) == 0) {
      spec->bytes_per_param = TYPES[i].bytes;
      return BLIS_OK;
    }
  }
  if (type[0] == '\0') {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: torch_dtype (or dtype) is missing", config->source);
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: torch_dtype \"%.40s\" is unknown; allowed: float32, "
                   "float16, bfloat16, int8, uint8, fp8, int4, nf4",
                   config->source, type);
}

/* Two experts or more under one of the names publishers use. */
static blis_status read_experts(const blis__config *config,
                                blis_model_spec *spec, blis_error *error) {
  static const char *const KEYS[] = {"num_experts", "moe_num_experts",
                                     "n_routed_experts", "num_local_experts",
                                     "num_routed_experts"};
  bool is_stated = false;
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    blis_json_value value = blis__config_member(config, KEYS[i]);
    int64_t experts = blis__config_truncated(value);
    is_stated |= experts == 1;
    if (experts >= 2 && spec->experts == 0) {
      BLIS_TRY(check_range(config, KEYS[i], experts, error));
      spec->experts = experts;
    }
  }
  int64_t shared =
      blis__config_truncated(blis__config_member(config, "n_shared_experts"));
  BLIS_TRY(check_range(config, "n_shared_experts", shared, error));
  if (spec->experts == 0) {
    spec->experts_unknown =
        !is_stated && (shared > 0 || spec->experts_per_token > 0);
    spec->experts_per_token = 0;
  } else {
    BLIS_TRY(
        require(config, "num_experts_per_tok", spec->experts_per_token, error));
  }
  if (spec->shared_expert_intermediate_size == 0 && shared > 0) {
    int64_t width = spec->expert_intermediate_size > 0
                        ? spec->expert_intermediate_size
                        : spec->intermediate_size;
    spec->shared_expert_intermediate_size = shared * width;
    BLIS_TRY(check_range(config, "n_shared_experts times their width",
                         shared * width, error));
  }
  return BLIS_OK;
}

static blis_status read_members(const blis__config *config,
                                blis_model_spec *spec, blis_error *error) {
  BLIS_TRY(read_integers(config, spec, error));
  BLIS_TRY(require(config, "num_hidden_layers", spec->layers, error));
  BLIS_TRY(require(config, "hidden_size", spec->hidden_size, error));
  BLIS_TRY(
      require(config, "num_attention_heads", spec->attention_heads, error));
  BLIS_TRY(read_compute_type(config, spec, error));
  BLIS_TRY(read_experts(config, spec, error));
  BLIS_TRY(blis__config_read_context(config, spec, error));
  blis__config_read_precision(config, spec);
  (void)snprintf(spec->activation, sizeof spec->activation, "%s",
                 blis__config_text(blis__config_member(config, "hidden_act")));
  blis_json_value tied = blis__config_member(config, "tie_word_embeddings");
  if (blis_json_bool(tied, &spec->tie_word_embeddings, NULL) != BLIS_OK) {
    spec->tie_word_embeddings = false;
  }
  blis_error fault;
  if (blis_model_spec_validate(spec, &fault) != BLIS_OK) {
    return blis_fail(error, BLIS_ERR_INVALID, "%.120s: %s", config->source,
                     fault.message);
  }
  return BLIS_OK;
}

static blis_status read_tree(const char *source, const blis_json *json,
                             const char *name, blis_model_spec *spec,
                             blis_error *error) {
  blis__config config = {.source = source, .root = blis_json_root(json)};
  BLIS_TRY(blis_json_need_object(config.root, error));
  config.text = blis_json_member(config.root, "text_config");
  blis_model_spec read = {0};
  (void)snprintf(read.name, sizeof read.name, "%s", name);
  BLIS_TRY(read_members(&config, &read, error));
  *spec = read;
  return BLIS_OK;
}

blis_status blis_model_config_parse(const char *source, blis_slice text,
                                    const char *name, blis_model_spec *spec,
                                    blis_error *error) {
  blis_json json;
  BLIS_TRY(blis_json_parse(&json, source, 1, text, error));
  blis_status status = read_tree(source, &json, name, spec, error);
  blis_json_deinit(&json);
  return status;
}

static blis_status load_file(const blis_alloc *alloc, const char *path,
                             const char *name, blis_model_spec *spec,
                             blis_error *error) {
  blis_json json;
  BLIS_TRY(blis_json_read_file(&json, alloc, path, FILE_SIZE_MAX, error));
  blis_status status = read_tree(path, &json, name, spec, error);
  blis_json_deinit(&json);
  return status;
}

blis_status blis_model_config_load(const blis_alloc *alloc, const char *path,
                                   const char *name, blis_model_spec *spec,
                                   blis_error *error) {
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
                       "no model configuration: neither %.200s/config.json "
                       "nor the file %.200s can be read",
                       path, path);
  }
  blis_alloc_free(alloc, inside, size);
  return status;
}
