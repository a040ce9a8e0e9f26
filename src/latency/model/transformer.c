#include "latency/model/transformer.h"

#include "base/minmax.h"

static double width_or(int64_t width, int64_t fallback) {
  return (double)(width > 0 ? width : fallback);
}

/* Returns the number of MoE layers: every interleave-th layer, except the leading dense layers. */
static int64_t moe_layers(const blis_model_spec *spec) {
  if (!blis_model_spec_is_moe(spec)) {
    return 0;
  }
  int64_t step = blis_max_i64(spec->interleave_moe_layer_step, 1);
  int64_t leading = blis_min_i64(spec->first_k_dense_replace, spec->layers);
  return (spec->layers - leading) / step;
}

/*
 * Returns the width of shared experts. Only Llama 4 has an interleave step. Each of its MoE layers
 * has one shared expert that is as wide as a routed expert, but config.json does not contain it.
 */
static double shared_width(const blis_model_spec *spec, double expert_width) {
  bool is_llama4 = spec->interleave_moe_layer_step > 0;
  return spec->shared_expert_intermediate_size == 0 && is_llama4
             ? expert_width
             : (double)spec->shared_expert_intermediate_size;
}

/*
 * Returns the attention weights with latent attention: the projections down to the latent vector
 * and up from it, per head.
 */
static double latent_attention(const blis_model_spec *spec, double head_dim) {
  double hidden = (double)spec->hidden_size;
  double heads = (double)spec->attention_heads;
  double rank = (double)spec->kv_lora_rank;
  double rope = (double)spec->qk_rope_head_dim;
  double query = hidden * heads * (head_dim + rope);
  double latent = hidden * (rank + rope) + 2.0 * rank * heads * head_dim;
  return query + latent + heads * head_dim * hidden;
}

blis_transformer blis_transformer_of(const blis_model_spec *spec) {
  double hidden = (double)spec->hidden_size;
  double heads = (double)spec->attention_heads;
  double kv_heads = (double)blis_model_spec_kv_heads(spec);
  double head_dim = width_or(spec->head_dim, spec->hidden_size / spec->attention_heads);
  bool is_latent = spec->kv_lora_rank > 0;
  double expert_width = width_or(spec->expert_intermediate_size, spec->intermediate_size);
  double mlp = (blis_model_spec_is_gated(spec) ? 3.0 : 2.0) * hidden;
  blis_transformer t = {
      .layers = (double)spec->layers,
      .moe_layers = (double)moe_layers(spec),
      .attention = is_latent ? latent_attention(spec, head_dim)
                             : 2.0 * hidden * head_dim * (heads + kv_heads),
      .dense_mlp = mlp * width_or(spec->dense_intermediate_size, spec->intermediate_size),
      .expert = mlp * expert_width,
      .shared_expert = mlp * shared_width(spec, expert_width),
      .router = hidden * (double)spec->experts,
      .head = hidden * (double)spec->vocab_size,
      .head_dim = head_dim,
      .kv_width = is_latent ? (double)(spec->kv_lora_rank + spec->qk_rope_head_dim)
                            : 2.0 * head_dim * kv_heads,
  };
  t.dense_layers = t.layers - t.moe_layers;
  return t;
}

double blis_transformer_parameters(const blis_transformer *t, const blis_model_spec *spec) {
  double experts = (double)spec->experts * t->expert;
  double embedding = spec->tie_word_embeddings ? 0.0 : t->head;
  return t->layers * t->attention + t->dense_layers * t->dense_mlp +
         t->moe_layers * (experts + t->shared_expert + t->router) + t->head + embedding;
}
