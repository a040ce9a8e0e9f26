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
    {"qwen3", "head_dim", 128},
    {"qwen3_moe", "head_dim", 128},
    {"qwen3_moe", "moe_intermediate_size", 768},
    {"qwen3_vl", "head_dim", 128},
    {"qwen3_vl_moe", "head_dim", 128},
    {"qwen3_next", "head_dim", 256},
    {"qwen3_next", "full_attention_interval", 4},
    {"qwen3_next", "linear_num_key_heads", 16},
    {"qwen3_next", "linear_num_value_heads", 32},
    {"qwen3_next", "linear_key_head_dim", 128},
    {"qwen3_next", "linear_value_head_dim", 128},
    {"qwen3_next", "linear_conv_kernel_dim", 4},
    {"qwen3_5", "head_dim", 256},
    {"qwen3_5", "full_attention_interval", 4},
    {"qwen3_5", "linear_num_key_heads", 16},
    {"qwen3_5", "linear_num_value_heads", 32},
    {"qwen3_5", "linear_key_head_dim", 128},
    {"qwen3_5", "linear_value_head_dim", 128},
    {"qwen3_5", "linear_conv_kernel_dim", 4},
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
    {"deepseek_v3", "q_lora_rank", 1536},
    {"deepseek_v3", "kv_lora_rank", 512},
    {"deepseek_v3", "qk_rope_head_dim", 64},
    {"deepseek_v3", "qk_nope_head_dim", 128},
    {"deepseek_v3", "v_head_dim", 128},
    {"deepseek_v3", "n_shared_experts", 1},
    {"deepseek_v3", "n_routed_experts", 256},
    {"deepseek_v3", "num_experts_per_tok", 8},
    {"deepseek_v3", "moe_intermediate_size", 2048},
    {"nemotron_h", "mamba_num_heads", 128},
    {"nemotron_h", "mamba_head_dim", 64},
    {"nemotron_h", "ssm_state_size", 128},
    {"nemotron_h", "n_groups", 8},
    {"nemotron_h", "conv_kernel", 4},
    {"nemotron_h", "head_dim", 128},
    {"bamba", "mamba_d_conv", 4},
    {"granitemoehybrid", "mamba_d_conv", 4},
    {"granitemoehybrid", "mamba_n_groups", 1},
    {"falcon_h1", "mamba_d_conv", 4},
    {"falcon_h1", "mamba_n_groups", 1},
    {"jamba", "mamba_d_conv", 4},
    {"jamba", "mamba_d_state", 16},
    {"jamba", "mamba_expand", 2},
    {"jamba", "attn_layer_period", 8},
    {"jamba", "expert_layer_period", 2},
    {"lfm2", "conv_L_cache", 3},
    {"lfm2", "block_multiple_of", 256},
    {"lfm2_moe", "conv_L_cache", 3},
    {"minimax", "head_dim", 128},
    {"minimax_text_01", "head_dim", 128},
    {"olmo3", "sliding_window", 4096},
    {"cohere2", "sliding_window", 4096},
};

/* The length of a type without its ending "_text". */
static size_t length_of(const char *type) {
  size_t length = strlen(type);
  bool is_text = length > 5 && strcmp(type + length - 5, "_text") == 0;
  return is_text ? length - 5 : length;
}

int64_t blis__class_default(const char *type, const char *key) {
  size_t length = length_of(type);
  for (size_t i = 0; i < sizeof DEFAULTS / sizeof *DEFAULTS; i++) {
    if (strlen(DEFAULTS[i].type) == length && strncmp(type, DEFAULTS[i].type, length) == 0 &&
        strcmp(DEFAULTS[i].key, key) == 0) {
      return DEFAULTS[i].value;
    }
  }
  return 0;
}
