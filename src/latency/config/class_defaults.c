#include "latency/config/class_defaults.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
  const char *type; /* without "_text" */
  const char *key;
  int64_t value;
} DEFAULTS[] = {
    {"gemma", "head_dim", 256},
    {"gemma2", "head_dim", 256},
    {"gemma2", "sliding_window", 4096},
    {"gemma3", "hidden_size", 2304},
    {"gemma3", "intermediate_size", 9216},
    {"gemma3", "num_hidden_layers", 26},
    {"gemma3", "num_attention_heads", 8},
    {"gemma3", "num_key_value_heads", 4},
    {"gemma3", "head_dim", 256},
    {"gemma3", "vocab_size", 262208},
    {"gemma3", "max_position_embeddings", 131072},
    {"gemma3", "sliding_window", 4096},
    {"gemma3n", "head_dim", 256},
    {"gemma3n", "sliding_window", 512},
    {"gemma3n", "vocab_size_per_layer_input", 262144},
    {"gemma3n", "hidden_size_per_layer_input", 256},
    {"gemma3n", "num_kv_shared_layers", 15},
    {"gemma3n", "altup_num_inputs", 4},
    {"gemma3n", "laurel_rank", 64},
    {"gemma4", "hidden_size", 2304},
    {"gemma4", "intermediate_size", 9216},
    {"gemma4", "num_hidden_layers", 30},
    {"gemma4", "num_attention_heads", 8},
    {"gemma4", "num_key_value_heads", 4},
    {"gemma4", "head_dim", 256},
    {"gemma4", "global_head_dim", 512},
    {"gemma4", "vocab_size", 262144},
    {"gemma4", "max_position_embeddings", 131072},
    {"gemma4", "sliding_window", 512},
    {"gemma4", "vocab_size_per_layer_input", 262144},
    {"gemma4", "hidden_size_per_layer_input", 256},
    {"llama4", "hidden_size", 5120},
    {"llama4", "intermediate_size", 8192},
    {"llama4", "intermediate_size_mlp", 16384},
    {"llama4", "num_hidden_layers", 48},
    {"llama4", "num_attention_heads", 40},
    {"llama4", "num_key_value_heads", 8},
    {"llama4", "head_dim", 128},
    {"llama4", "vocab_size", 202048},
    {"llama4", "num_local_experts", 16},
    {"llama4", "num_experts_per_tok", 1},
    {"llama4", "interleave_moe_layer_step", 1},
    {"llama4", "attention_chunk_size", 8192},
    {"qwen2", "num_key_value_heads", 32},
    {"qwen2_moe", "num_key_value_heads", 16},
    {"qwen3", "num_key_value_heads", 32},
    {"qwen3", "head_dim", 128},
    {"qwen3_moe", "num_key_value_heads", 4},
    {"qwen3_moe", "head_dim", 128},
    {"qwen3_moe", "moe_intermediate_size", 768},
    {"qwen3_vl", "head_dim", 128},
    {"qwen3_vl_moe", "head_dim", 128},
    {"qwen3_next", "num_key_value_heads", 2},
    {"qwen3_next", "head_dim", 256},
    {"qwen3_next", "full_attention_interval", 4},
    {"qwen3_next", "linear_num_key_heads", 16},
    {"qwen3_next", "linear_num_value_heads", 32},
    {"qwen3_next", "linear_key_head_dim", 128},
    {"qwen3_next", "linear_value_head_dim", 128},
    {"qwen3_next", "linear_conv_kernel_dim", 4},
    {"qwen3_5", "num_key_value_heads", 4},
    {"qwen3_5", "head_dim", 256},
    {"qwen3_5", "full_attention_interval", 4},
    {"qwen3_5", "linear_num_key_heads", 16},
    {"qwen3_5", "linear_num_value_heads", 32},
    {"qwen3_5", "linear_key_head_dim", 128},
    {"qwen3_5", "linear_value_head_dim", 128},
    {"qwen3_5", "linear_conv_kernel_dim", 4},
    {"qwen3_5_moe", "num_key_value_heads", 2},
    {"qwen3_5_moe", "head_dim", 256},
    {"qwen3_5_moe", "full_attention_interval", 4},
    {"qwen3_5_moe", "linear_num_key_heads", 16},
    {"qwen3_5_moe", "linear_num_value_heads", 32},
    {"qwen3_5_moe", "linear_key_head_dim", 128},
    {"qwen3_5_moe", "linear_value_head_dim", 128},
    {"qwen3_5_moe", "linear_conv_kernel_dim", 4},
    {"qwen3_5_moe", "shared_expert_intermediate_size", 512},
    {"qwen3_5_moe", "num_experts", 256},
    {"qwen3_5_moe", "num_experts_per_tok", 8},
    {"gpt_oss", "head_dim", 64},
    {"gpt_oss", "num_key_value_heads", 8},
    {"gpt_oss", "sliding_window", 128},
    {"mistral", "num_key_value_heads", 8},
    {"ministral3", "num_key_value_heads", 8},
    {"mixtral", "num_key_value_heads", 8},
    {"deepseek_v2", "n_shared_experts", 2},
    {"deepseek_v3", "q_lora_rank", 1536},
    {"deepseek_v3", "kv_lora_rank", 512},
    {"deepseek_v3", "qk_rope_head_dim", 64},
    {"deepseek_v3", "qk_nope_head_dim", 128},
    {"deepseek_v3", "v_head_dim", 128},
    {"deepseek_v3", "n_shared_experts", 1},
    {"deepseek_v3", "n_routed_experts", 256},
    {"deepseek_v3", "num_experts_per_tok", 8},
    {"deepseek_v3", "moe_intermediate_size", 2048},
    {"deepseek_v3", "first_k_dense_replace", 3},
    {"deepseek_v32", "n_shared_experts", 1},
    {"deepseek_v32", "first_k_dense_replace", 3},
    {"kimi_k2", "n_shared_experts", 1},
    {"kimi_k2", "first_k_dense_replace", 3},
    {"deepseek_v4", "hc_mult", 4},
    {"deepseek_v4", "n_shared_experts", 1},
    {"deepseek_ref", "hc_mult", 4},
    {"deepseek_ref", "n_shared_experts", 1},
    {"kimi_linear", "linear_num_heads", 32},
    {"kimi_linear", "linear_head_dim", 128},
    {"kimi_linear", "linear_conv_kernel_dim", 4},
    {"kimi_linear", "num_shared_experts", 1},
    {"glm_moe_dsa", "n_shared_experts", 1},
    {"glm_moe_dsa", "num_experts_per_tok", 8},
    {"glm_moe_dsa", "moe_intermediate_size", 2048},
    {"glm_moe_dsa", "first_k_dense_replace", 3},
    {"glm_moe_dsa", "index_topk", 2048},
    {"glm_moe_dsa", "index_head_dim", 128},
    {"glm_moe_dsa", "index_n_heads", 32},
    {"glm", "num_key_value_heads", 2},
    {"glm4", "num_key_value_heads", 2},
    {"glm4_moe", "num_key_value_heads", 8},
    {"glm4_moe", "n_routed_experts", 128},
    {"glm4_moe", "n_shared_experts", 1},
    {"glm4_moe", "num_experts_per_tok", 8},
    {"glm4_moe", "moe_intermediate_size", 1408},
    {"glm4_moe", "first_k_dense_replace", 1},
    {"glm4_moe_lite", "n_shared_experts", 1},
    {"glm4_moe_lite", "first_k_dense_replace", 1},
    {"glm4v_moe", "n_routed_experts", 128},
    {"glm4v_moe", "n_shared_experts", 1},
    {"glm4v_moe", "num_experts_per_tok", 8},
    {"glm4v_moe", "moe_intermediate_size", 1408},
    {"glm4v_moe", "first_k_dense_replace", 1},
    {"qwen2_moe", "num_experts", 60},
    {"qwen2_moe", "num_experts_per_tok", 4},
    {"qwen2_moe", "moe_intermediate_size", 1408},
    {"qwen2_moe", "shared_expert_intermediate_size", 5632},
    {"qwen3_moe", "num_experts", 128},
    {"qwen3_moe", "num_experts_per_tok", 8},
    {"qwen3_next", "num_experts", 512},
    {"qwen3_next", "num_experts_per_tok", 10},
    {"qwen3_next", "moe_intermediate_size", 512},
    {"qwen3_next", "shared_expert_intermediate_size", 512},
    {"mixtral", "num_local_experts", 8},
    {"mixtral", "num_experts_per_tok", 2},
    {"ernie4_5", "num_key_value_heads", 2},
    {"ernie4_5_moe", "num_key_value_heads", 4},
    {"ernie4_5_moe", "moe_num_experts", 64},
    {"ernie4_5_moe", "moe_k", 6},
    {"ernie4_5_moe", "moe_num_shared_experts", 2},
    {"ernie4_5_moe", "moe_intermediate_size", 1536},
    {"ernie4_5_moe", "moe_layer_start_index", 1},
    {"step3", "num_attention_groups", 1},
    {"step3", "share_q_dim", 2048},
    {"step3", "share_expert_dim", 5120},
    {"step3p5", "head_dim", 128},
    {"step3p5", "num_attention_groups", 8},
    {"step3p7", "head_dim", 128},
    {"step3p7", "num_attention_groups", 8},
    {"step3p5", "share_expert_dim", 1280},
    {"dbrx", "kv_n_heads", 1},
    {"mimo_v2", "v_head_dim", 128},
    {"mimo_v2_flash", "v_head_dim", 128},
    {"falcon_mamba", "intermediate_size", 8192},
    {"nemotron_h", "num_key_value_heads", 8},
    {"nemotron_h", "mamba_num_heads", 128},
    {"nemotron_h", "mamba_head_dim", 64},
    {"nemotron_h", "ssm_state_size", 128},
    {"nemotron_h", "n_groups", 8},
    {"nemotron_h", "conv_kernel", 4},
    {"nemotron_h", "head_dim", 128},
    {"bamba", "num_key_value_heads", 8},
    {"bamba", "mamba_d_conv", 4},
    {"bamba", "mamba_n_groups", 1},
    {"bamba", "mamba_expand", 2},
    {"granitemoehybrid", "mamba_d_conv", 4},
    {"granitemoehybrid", "shared_intermediate_size", 1024},
    {"granitemoehybrid", "mamba_n_groups", 1},
    {"falcon_h1", "num_key_value_heads", 8},
    {"falcon_h1", "mamba_d_conv", 4},
    {"falcon_h1", "mamba_n_groups", 1},
    {"jamba", "num_key_value_heads", 8},
    {"jamba", "mamba_d_conv", 4},
    {"jamba", "mamba_d_state", 16},
    {"jamba", "mamba_expand", 2},
    {"jamba", "attn_layer_period", 8},
    {"jamba", "expert_layer_period", 2},
    {"lfm2", "num_key_value_heads", 8},
    {"lfm2", "conv_L_cache", 3},
    {"lfm2", "block_multiple_of", 256},
    {"lfm2_moe", "num_key_value_heads", 8},
    {"lfm2_moe", "conv_L_cache", 3},
    {"lfm2_moe", "num_experts", 32},
    {"lfm2_moe", "num_experts_per_tok", 4},
    {"lfm2_moe", "moe_intermediate_size", 1792},
    {"lfm2_moe", "num_dense_layers", 2},
    {"laguna", "num_key_value_heads", 8},
    {"laguna", "head_dim", 128},
    {"laguna", "sliding_window", 512},
    {"laguna", "num_experts", 256},
    {"laguna", "num_experts_per_tok", 8},
    {"laguna", "moe_intermediate_size", 512},
    {"laguna", "shared_expert_intermediate_size", 512},
    {"laguna", "first_k_dense_replace", 1},
    {"olmo_hybrid", "full_attention_interval", 4},
    {"phimoe", "num_key_value_heads", 8},
    {"exaone4", "num_key_value_heads", 32},
    {"starcoder2", "num_key_value_heads", 2},
    {"seed_oss", "num_key_value_heads", 8},
    {"smollm3", "num_key_value_heads", 4},
    {"minimax_m2", "num_key_value_heads", 8},
    {"minimax_m2", "head_dim", 128},
    {"minimax_m3", "num_key_value_heads", 4},
    {"minimax_m3", "head_dim", 128},
    {"minimax_m3", "n_shared_experts", 1},
    {"minimax_m3", "dense_intermediate_size", 12288},
    {"minimax_m3_vl", "num_key_value_heads", 4},
    {"minimax_m3_vl", "head_dim", 128},
    {"minimax_m3_vl", "n_shared_experts", 1},
    {"minimax_m3_vl", "dense_intermediate_size", 12288},
    {"minimax_m3_vl", "shared_intermediate_size", 3072},
    {"minimax_m3_vl", "num_local_experts", 128},
    {"minimax_m3_vl", "num_experts_per_tok", 4},
    {"minimax", "num_key_value_heads", 8},
    {"minimax", "head_dim", 128},
    {"minimax_text_01", "head_dim", 128},
    {"olmo3", "sliding_window", 4096},
    {"cohere2", "sliding_window", 4096},
};

/*
 * Default sizes of a text part inside another configuration. For a standalone model, transformers
 * writes all sizes. For such a part, it writes only sizes that differ from the defaults of the
 * class.
 */
static const struct part_defaults {
  const char *type; /* without "_text" */
  int64_t sizes[8]; /* in the order of PART_KEYS; 0 = none */
} PARTS[] = {
    {"llama", {32000, 4096, 11008, 32, 32, 0, 0, 2048}},
    {"mistral", {32000, 4096, 14336, 32, 32, 8, 0, 131072}},
    {"ministral3", {131072, 4096, 14336, 34, 32, 8, 128, 262144}},
    {"mixtral", {32000, 4096, 14336, 32, 32, 8, 0, 131072}},
    {"qwen2", {151936, 4096, 22016, 32, 32, 32, 0, 32768}},
    {"qwen2_moe", {151936, 2048, 5632, 24, 16, 16, 0, 32768}},
    {"qwen2_vl", {152064, 8192, 29568, 80, 64, 8, 0, 32768}},
    {"qwen2_5_vl", {152064, 8192, 29568, 80, 64, 8, 0, 32768}},
    {"qwen2_5_omni", {152064, 3584, 18944, 28, 28, 4, 0, 32768}},
    {"qwen3", {151936, 4096, 22016, 32, 32, 32, 128, 32768}},
    {"qwen3_moe", {151936, 2048, 6144, 24, 32, 4, 0, 32768}},
    {"qwen3_vl", {151936, 4096, 22016, 32, 32, 32, 128, 128000}},
    {"qwen3_vl_moe", {151936, 2048, 5632, 24, 16, 16, 0, 128000}},
    {"gemma", {256000, 3072, 24576, 28, 16, 16, 256, 8192}},
    {"gemma2", {256000, 2304, 9216, 26, 8, 4, 256, 8192}},
    {"gemma3n", {262400, 2048, 16384, 35, 8, 2, 256, 32768}},
    {"phi3", {32064, 3072, 8192, 32, 32, 0, 0, 4096}},
    {"cohere", {256000, 8192, 22528, 40, 64, 0, 0, 8192}},
    {"cohere2", {256000, 8192, 22528, 40, 64, 0, 0, 8192}},
    {"granite", {32000, 4096, 11008, 32, 32, 0, 0, 2048}},
    {"deepseek_v3", {129280, 7168, 18432, 61, 128, 128, 0, 4096}},
};

static const char *const PART_KEYS[] = {
    "vocab_size",          "hidden_size",         "intermediate_size", "num_hidden_layers",
    "num_attention_heads", "num_key_value_heads", "head_dim",          "max_position_embeddings"};

/* Further defaults of such parts. */
static const struct {
  const char *type;
  const char *key;
  int64_t value;
} PART_DEFAULTS[] = {
    {"mistral", "sliding_window", 4096},
    {"qwen3_vl_moe", "num_experts", 60},
    {"qwen3_vl_moe", "num_experts_per_tok", 4},
    {"qwen3_vl_moe", "moe_intermediate_size", 1408},
};

/* Returns the length of a type without the suffix "_text". */
static size_t length_of(const char *type) {
  size_t length = strlen(type);
  bool is_text = length > 5 && strcmp(type + length - 5, "_text") == 0;
  return is_text ? length - 5 : length;
}

static bool is_type(const char *known, const char *type, size_t length) {
  return strlen(known) == length && strncmp(type, known, length) == 0;
}

int64_t blis__part_default(const char *type, const char *key) {
  size_t length = length_of(type);
  for (size_t i = 0; i < sizeof PART_DEFAULTS / sizeof *PART_DEFAULTS; i++) {
    if (is_type(PART_DEFAULTS[i].type, type, length) && strcmp(PART_DEFAULTS[i].key, key) == 0) {
      return PART_DEFAULTS[i].value;
    }
  }
  for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
    for (size_t k = 0; is_type(PARTS[i].type, type, length) && k < 8; k++) {
      if (strcmp(PART_KEYS[k], key) == 0) {
        return PARTS[i].sizes[k];
      }
    }
  }
  return 0;
}

int64_t blis__class_default(const char *type, const char *key) {
  size_t length = length_of(type);
  for (size_t i = 0; i < sizeof DEFAULTS / sizeof *DEFAULTS; i++) {
    if (is_type(DEFAULTS[i].type, type, length) && strcmp(DEFAULTS[i].key, key) == 0) {
      return DEFAULTS[i].value;
    }
  }
  return 0;
}
