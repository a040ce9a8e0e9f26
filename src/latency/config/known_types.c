#include "latency/config/known_types.h"

#include <string.h>

/* Prefixes of types. */
static const char *const KNOWN[] = {
    "afmoe",    "apertus",   "arcee",       "arctic",     "aquila",   "baichuan",   "bailing",
    "bamba",    "bitnet",    "bloom",       "chatglm",    "codegen",  "cohere",     "dbrx",
    "deci",     "deepseek",  "dots1",       "ernie4_5",   "exaone",   "falcon",     "gemma",
    "glm",      "gpt2",      "gpt_bigcode", "gpt_neo",    "gpt_oss",  "gptj",       "granite",
    "grok",     "helium",    "hunyuan",     "hy_v3",      "intern",   "jamba",      "kimi",
    "laguna",   "lfm2",      "llama",       "longcat",    "mamba",    "mimo",       "minicpm",
    "minimax",  "ministral", "mistral",     "mixtral",    "mllama",   "mpt",        "nemotron",
    "olmo",     "opt",       "orion",       "persimmon",  "phi",      "pixtral",    "qwen",
    "seed_oss", "skywork",   "smollm3",     "solar_open", "stablelm", "starcoder2", "step3",
    "xverse",   "yi",
};

/* Types whose layers are not described by the keys of the file. */
static const struct {
  const char *type; /* the beginning */
  const char *obstacle;
} OBSTACLES[] = {
    {"rwkv", "the state of RWKV"},
    {"zamba", "attention layers that share their weights"},
    {"recurrent_gemma", "gated linear recurrences"},
    {"phi4flash", "gated memory units and differential attention"},
    {"plamo2", "its mix of Mamba and window layers"},
    {"hymba", "attention heads and state-space heads in one layer"},
    {"xlstm", "xLSTM cells"},
    {"longcat_flash_ngram", "embeddings of n-grams"},
    {"qwen4_exp", "embeddings of n-grams in single layers"},
    {"t5", "an encoder and a decoder"},
    {"bart", "an encoder and a decoder"},
    {"whisper", "an encoder and a decoder"},
};

void blis__type_check(blis__config *config, blis_layered_model *model) {
  for (size_t i = 0; i < sizeof OBSTACLES / sizeof *OBSTACLES; i++) {
    if (blis__config_is(config, OBSTACLES[i].type)) {
      blis__config_fail(config, "model_type %.60s is not supported: blis does not describe %s",
                        config->type, OBSTACLES[i].obstacle);
      return;
    }
  }
  for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
    if (blis__config_is(config, KNOWN[i])) {
      return;
    }
  }
  if (config->type[0] != '\0') {
    blis_layered_model_note(model,
                            "model_type %.60s is not known: its layers follow from the keys of "
                            "the file",
                            config->type);
  } else {
    blis_layered_model_note(model,
                            "model_type is not stated: the layers follow from the keys of the "
                            "file");
  }
}

static bool has_any(const blis__config *config, const char *const *keys, size_t count,
                    const char **found) {
  for (size_t i = 0; i < count; i++) {
    blis_json_value value = blis__config_member(config, keys[i]);
    bool is_object = blis_json_type_of(value) == BLIS_JSON_OBJECT;
    bool is_list = blis_json_type_of(value) == BLIS_JSON_ARRAY && blis_json_count(value) > 0;
    if (is_object || is_list || blis__text_of(value)[0] != '\0' || blis__number_of(value) > 0.0) {
      *found = keys[i];
      return true;
    }
  }
  return false;
}

static bool has_state(const blis_attention *a) {
  switch (a->kind) {
  case BLIS_ATTENTION_GDN:
  case BLIS_ATTENTION_KDA:
  case BLIS_ATTENTION_LIGHTNING:
  case BLIS_ATTENTION_MAMBA2:
  case BLIS_ATTENTION_MAMBA1:
  case BLIS_ATTENTION_SHORT_CONV:
  case BLIS_ATTENTION_PARALLEL:
    return true;
  default:
    return false;
  }
}

static bool has_span(const blis_attention *a) {
  return a->span > 0;
}

static bool any_layer(const blis_layered_model *model, bool (*is)(const blis_attention *a)) {
  for (size_t i = 0; i < model->run_count; i++) {
    if (is(&model->runs[i].layer.attention)) {
      return true;
    }
  }
  return false;
}

/* Checks keys that have no class default, such as the assignment of parts to layers. One of several
   keys suffices. */
static void need_by_type(blis__config *config) {
  static const char *const KINDS[] = {"layer_types", "attn_type_list", "hybrid_layer_pattern",
                                      "linear_attn_config", "layer_group_size"};
  static const char *const RATIOS[] = {"compress_ratios", "layer_types"};
  static const char *const SPARSE[] = {"sparse_attention_config", "layer_types"};
  static const char *const EXPERTS[] = {"moe_layers_enum", "moe_layer_freq", "mlp_layer_types",
                                        "first_k_dense_replace", "is_moe_layer"};
  enum {
    KIND_COUNT = sizeof KINDS / sizeof *KINDS,
    EXPERT_COUNT = sizeof EXPERTS / sizeof *EXPERTS
  };
  static const struct {
    const char *type; /* the beginning */
    const char *const *keys;
    size_t count;
    const char *usual; /* usual key, for the message */
  } NEEDED[] = {
      {"minimax_m1", KINDS, KIND_COUNT, "attn_type_list"},
      {"minimax_text_01", KINDS, KIND_COUNT, "attn_type_list"},
      {"kimi_linear", KINDS, KIND_COUNT, "linear_attn_config"},
      {"bailing_hybrid", KINDS, KIND_COUNT, "layer_group_size"},
      {"bailing_moe_linear", KINDS, KIND_COUNT, "layer_group_size"},
      {"step3p", KINDS, KIND_COUNT, "layer_types"},
      {"mimo_v2", KINDS, KIND_COUNT, "hybrid_layer_pattern"},
      {"step3", EXPERTS, EXPERT_COUNT, "moe_layers_enum"},
      {"mimo_v2", EXPERTS, EXPERT_COUNT, "moe_layer_freq"},
      {"deepseek_v4", RATIOS, sizeof RATIOS / sizeof *RATIOS, "compress_ratios"},
      {"deepseek_ref", RATIOS, sizeof RATIOS / sizeof *RATIOS, "compress_ratios"},
      {"minimax_m3", SPARSE, sizeof SPARSE / sizeof *SPARSE, "sparse_attention_config"},
  };
  const char *found = NULL;
  for (size_t i = 0; i < sizeof NEEDED / sizeof *NEEDED; i++) {
    if (blis__config_is(config, NEEDED[i].type) &&
        !has_any(config, NEEDED[i].keys, NEEDED[i].count, &found)) {
      blis__config_fail(config, "%s is missing (model_type %.60s)", NEEDED[i].usual, config->type);
    }
  }
}

/* Stores an error if the file has widths of latent attention but no rank. */
static void need_latent_rank(blis__config *config) {
  bool has_width = blis__config_whole(config, BLIS__KEYS("qk_nope_head_dim")) > 0;
  bool has_rank = blis__config_whole(config, BLIS__KEYS("kv_lora_rank")) > 0 ||
                  blis__config_has(config, "compress_ratios");
  if (has_width && !has_rank && blis__config_flag(config, "use_mla", true)) {
    blis__config_fail(config,
                      "kv_lora_rank is missing, but qk_nope_head_dim is stated (model_type %.60s)",
                      config->type);
  }
}

void blis__check_unused_sizes(blis__config *config, blis_layered_model *model) {
  /* Keys that contain the kind of each layer. */
  static const char *const LISTS[] = {
      "layer_types",          "layers_block_type", "attn_type_list",  "hybrid_override_pattern",
      "hybrid_layer_pattern", "block_configs",     "compress_ratios", "full_attn_idxs"};
  static const char *const STATES[] = {
      "mamba_d_state",    "mamba_d_conv",    "mamba_num_heads",        "mamba_n_heads",
      "ssm_state_size",   "ssm_cfg",         "linear_num_value_heads", "linear_attn_config",
      "conv_L_cache",     "lru_width",       "attn_layer_period",      "attn_layer_indices",
      "hybrid_layer_ids", "layer_group_size"};
  static const char *const WINDOWS[] = {"swa_num_key_value_heads", "swa_head_dim",
                                        "swa_v_head_dim",          "swa_num_attention_heads",
                                        "attention_chunk_size",    "attention_other_setting"};
  const char *key = NULL;
  need_by_type(config);
  need_latent_rank(config);
  if (config->status != BLIS_OK || has_any(config, LISTS, sizeof LISTS / sizeof *LISTS, &key)) {
    return;
  }
  if (!any_layer(model, has_state) &&
      has_any(config, STATES, sizeof STATES / sizeof *STATES, &key)) {
    blis__config_fail(config,
                      "%s is stated, but no known key states the layers to which it "
                      "applies (model_type %.60s); expected layer_types",
                      key, config->type[0] != '\0' ? config->type : "not stated");
  } else if (!any_layer(model, has_span) &&
             has_any(config, WINDOWS, sizeof WINDOWS / sizeof *WINDOWS, &key)) {
    blis__config_fail(config,
                      "%s is stated, but no known key states the layers to which it "
                      "applies (model_type %.60s); expected layer_types or "
                      "hybrid_layer_pattern",
                      key, config->type[0] != '\0' ? config->type : "not stated");
  }
}
