#include "latency/layers/layer_fields.h"

#define FIELD(type, member, name, kind)                                                            \
  { name, kind, offsetof(type, member), sizeof(((type *)0)->member) }
#define ATTENTION(member, name) FIELD(blis_attention, member, name, BLIS_SPEC_INTEGER)
#define ATTENTION_FLAG(member, name) FIELD(blis_attention, member, name, BLIS_SPEC_FLAG)
#define FFN(member, name) FIELD(blis_ffn, member, name, BLIS_SPEC_INTEGER)
#define FFN_FLAG(member, name) FIELD(blis_ffn, member, name, BLIS_SPEC_FLAG)

const blis_spec_field *blis_attention_fields(size_t *count) {
  static const blis_spec_field FIELDS[] = {
      ATTENTION(span, "span"),
      ATTENTION(heads, "attention_heads"),
      ATTENTION(kv_heads, "kv_heads"),
      ATTENTION(head_dim, "head_dim"),
      ATTENTION(value_head_dim, "value_head_dim"),
      ATTENTION(gate_width, "gate_width"),
      ATTENTION_FLAG(has_no_value_matrix, "shares_key_matrix"),
      ATTENTION_FLAG(reuses_kv, "reuses_kv"),
      ATTENTION(query_rank, "q_lora_rank"),
      ATTENTION(kv_rank, "kv_lora_rank"),
      ATTENTION(rope_dim, "qk_rope_head_dim"),
      ATTENTION(nope_dim, "qk_nope_head_dim"),
      ATTENTION(output_rank, "o_lora_rank"),
      ATTENTION(output_groups, "o_groups"),
      ATTENTION(ratio, "compress_ratio"),
      ATTENTION(index_heads, "index_heads"),
      ATTENTION(index_dim, "index_head_dim"),
      ATTENTION(index_key_bytes, "index_key_bytes"),
      ATTENTION(attended_tokens, "attended_tokens"),
      ATTENTION(key_heads, "linear_key_heads"),
      ATTENTION(key_dim, "linear_key_head_dim"),
      ATTENTION(value_heads, "linear_value_heads"),
      ATTENTION(value_dim, "linear_value_head_dim"),
      ATTENTION(state_size, "state_size"),
      ATTENTION(state_groups, "state_groups"),
      ATTENTION(time_rank, "time_step_rank"),
      ATTENTION(conv_kernel, "conv_kernel"),
      ATTENTION_FLAG(has_full_rank_gate, "full_rank_gate"),
  };
  *count = sizeof FIELDS / sizeof *FIELDS;
  return FIELDS;
}

const blis_spec_field *blis_ffn_fields(size_t *count) {
  static const blis_spec_field FIELDS[] = {
      FFN(width, "intermediate_size"),
      FFN(matrices, "ffn_matrices"),
      FFN(experts, "experts"),
      FFN(experts_per_token, "experts_per_token"),
      FFN(expert_width, "expert_intermediate_size"),
      FFN(latent_width, "expert_latent_size"),
      FFN(shared_width, "shared_expert_intermediate_size"),
      FFN_FLAG(has_shared_gate, "shared_expert_gate"),
      FFN_FLAG(has_expert_biases, "expert_biases"),
  };
  *count = sizeof FIELDS / sizeof *FIELDS;
  return FIELDS;
}
