#include "latency/model/spec_layers.h"

#include <string.h>

#include "latency/model/transformer.h"

static int64_t or_else(int64_t value, int64_t other) {
  return value > 0 ? value : other;
}

static blis_attention attention_of(const blis_model_spec *spec) {
  int64_t head_dim = or_else(spec->head_dim, spec->hidden_size / spec->attention_heads);
  if (spec->kv_lora_rank > 0) {
    return (blis_attention){.kind = BLIS_ATTENTION_LATENT,
                            .heads = spec->attention_heads,
                            .value_head_dim = head_dim,
                            .kv_rank = spec->kv_lora_rank,
                            .rope_dim = spec->qk_rope_head_dim,
                            .nope_dim = head_dim};
  }
  return (blis_attention){.kind = BLIS_ATTENTION_FULL,
                          .heads = spec->attention_heads,
                          .kv_heads = blis_model_spec_kv_heads(spec),
                          .head_dim = head_dim};
}

static bool mentions(const blis_model_spec *spec, const char *word) {
  return strstr(spec->quantization, word) != NULL;
}

/* By the width of a weight, and by the method where widths are equal. */
static blis_weight_format format_of(const blis_model_spec *spec) {
  double bytes = blis_model_spec_weight_bytes(spec);
  blis_weight_kind kind = bytes >= spec->bytes_per_param                          ? BLIS_KIND_MODEL
                          : bytes >= 1                                            ? BLIS_KIND_FP8
                          : mentions(spec, "nvfp4") || mentions(spec, "modelopt") ? BLIS_KIND_NVFP4
                          : mentions(spec, "mxfp4")                               ? BLIS_KIND_MXFP4
                                                                                  : BLIS_KIND_INT4;
  return (blis_weight_format){kind, kind == BLIS_KIND_MODEL ? 0 : bytes};
}

static void set_formats(blis_layer *layer, blis_weight_format format) {
  for (int class = 0; class < BLIS_WEIGHT_CLASS_COUNT; class ++) {
    bool is_left = class == BLIS_WEIGHT_HEAD ||
                   (format.kind == BLIS_KIND_MXFP4 && class != BLIS_WEIGHT_EXPERTS);
    layer->formats[class] = is_left ? (blis_weight_format){0} : format;
  }
}

size_t blis__spec_layers(const blis_model_spec *spec, blis_layer_run runs[BLIS__SPEC_RUNS_MAX]) {
  const blis_transformer parts = blis_transformer_of(spec);
  int64_t matrices = blis_model_spec_is_gated(spec) ? 3 : 2;
  size_t count = 0;
  if (parts.dense_layers > 0) {
    int64_t width = or_else(spec->dense_intermediate_size, spec->intermediate_size);
    runs[count++] = (blis_layer_run){
        .count = (int64_t)parts.dense_layers,
        .layer = {.attention = attention_of(spec), .ffn = {BLIS_FFN_DENSE, width, matrices}}};
  }
  if (parts.moe_layers > 0) {
    double shared = parts.shared_expert / (double)matrices / (double)spec->hidden_size;
    runs[count++] =
        (blis_layer_run){.count = (int64_t)parts.moe_layers,
                         .layer = {.attention = attention_of(spec),
                                   .ffn = {.kind = BLIS_FFN_MOE,
                                           .matrices = matrices,
                                           .experts = spec->experts,
                                           .experts_per_token = spec->experts_per_token,
                                           .expert_width = or_else(spec->expert_intermediate_size,
                                                                   spec->intermediate_size),
                                           .shared_width = (int64_t)shared}}};
  }
  for (size_t i = 0; i < count; i++) {
    set_formats(&runs[i].layer, format_of(spec));
  }
  return count;
}
