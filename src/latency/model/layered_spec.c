#include "latency/model/layered_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/minmax.h"

/*
 * Widths of latent attention that descriptions with identical layers do not contain (DeepSeek-V2).
 */
enum { NOPE_DIM = 128, LATENT_VALUE_DIM = 128, ROPE_DIM = 64 };

static blis_attention attention_of(const blis_model_spec *spec) {
  if (spec->kv_lora_rank > 0) {
    return (blis_attention){.kind = BLIS_ATTENTION_LATENT,
                            .heads = spec->attention_heads,
                            .kv_rank = spec->kv_lora_rank,
                            .rope_dim =
                                spec->qk_rope_head_dim > 0 ? spec->qk_rope_head_dim : ROPE_DIM,
                            .nope_dim = NOPE_DIM,
                            .value_head_dim = LATENT_VALUE_DIM};
  }
  int64_t width = spec->head_dim;
  if (width == 0 && spec->attention_heads > 0) {
    width = spec->hidden_size / spec->attention_heads;
  }
  return (blis_attention){.kind = BLIS_ATTENTION_FULL,
                          .heads = spec->attention_heads,
                          .kv_heads = blis_model_spec_kv_heads(spec),
                          .head_dim = width};
}

static blis_ffn dense_of(const blis_model_spec *spec, int64_t width) {
  return (blis_ffn){
      .kind = BLIS_FFN_DENSE, .width = width, .matrices = blis_model_spec_is_gated(spec) ? 3 : 2};
}

static blis_ffn ffn_of(const blis_model_spec *spec) {
  if (!blis_model_spec_is_moe(spec)) {
    return dense_of(spec, spec->intermediate_size);
  }
  int64_t width =
      spec->expert_intermediate_size > 0 ? spec->expert_intermediate_size : spec->intermediate_size;
  return (blis_ffn){.kind = BLIS_FFN_MOE,
                    .matrices = blis_model_spec_is_gated(spec) ? 3 : 2,
                    .experts = spec->experts,
                    .experts_per_token = spec->experts_per_token,
                    .expert_width = width,
                    .shared_width = spec->shared_expert_intermediate_size};
}

static bool mentions(const blis_model_spec *spec, const char *word) {
  return strstr(spec->quantization, word) != NULL;
}

/*
 * Returns the number format of the method, or the format for the bytes per weight if the method has
 * other bytes.
 */
static blis_weight_format format_of(const blis_model_spec *spec) {
  double bytes = blis_model_spec_weight_bytes(spec);
  if (bytes >= spec->bytes_per_param) {
    return (blis_weight_format){0};
  }
  blis_weight_format named;
  if (blis_weight_format_named(spec->quantization, &named, NULL) == BLIS_OK &&
      named.bytes == bytes) {
    return named;
  }
  blis_weight_kind kind = bytes >= 1.0                                            ? BLIS_KIND_FP8
                          : mentions(spec, "nvfp4") || mentions(spec, "modelopt") ? BLIS_KIND_NVFP4
                          : mentions(spec, "mxfp4")                               ? BLIS_KIND_MXFP4
                                                                                  : BLIS_KIND_INT4;
  return (blis_weight_format){kind, bytes};
}

blis_layer blis_model_spec_layer(const blis_model_spec *spec) {
  blis_layer layer = {.attention = attention_of(spec), .ffn = ffn_of(spec)};
  blis_weight_format format = format_of(spec);
  bool is_of_experts = format.kind == BLIS_KIND_MXFP4 || mentions(spec, "experts_");
  bool has_only_experts = is_of_experts && layer.ffn.kind == BLIS_FFN_MOE;
  for (int class = 0; class < BLIS_WEIGHT_HEAD; class ++) {
    if (!has_only_experts || class == BLIS_WEIGHT_EXPERTS) {
      layer.formats[class] = format;
    }
  }
  return layer;
}

void blis_model_spec_copy_frame(const blis_model_spec *spec, blis_layered_model *model) {
  (void)snprintf(model->name, sizeof model->name, "%s", spec->name);
  (void)snprintf(model->quantization, sizeof model->quantization, "%s", spec->quantization);
  model->hidden_size = spec->hidden_size;
  model->vocabulary = spec->vocab_size;
  model->has_tied_embeddings = spec->tie_word_embeddings;
  model->model_bytes = spec->bytes_per_param;
  model->max_tokens = spec->max_model_tokens;
}

static int64_t dense_layers_of(const blis_model_spec *spec) {
  if (!blis_model_spec_is_moe(spec)) {
    return 0;
  }
  if (spec->interleave_moe_layer_step > 0) {
    int64_t moe_layers;
    int64_t dense_layers;
    blis_model_spec_split_layers(spec, &moe_layers, &dense_layers);
    return dense_layers;
  }
  return blis_min_i64(spec->first_k_dense_replace, spec->layers);
}

static blis_status check_sizes(const blis_model_spec *spec, bool has_dense, blis_error *error) {
  blis__problems problems = {0};
  bool needs_width =
      has_dense ? spec->dense_intermediate_size == 0 : spec->expert_intermediate_size == 0;
  if (needs_width && spec->intermediate_size == 0) {
    blis__problems_add(&problems, "intermediate_size is missing");
  }
  if (spec->vocab_size == 0) {
    blis__problems_add(&problems, "vocab_size is missing");
  }
  if (spec->kv_lora_rank == 0 && spec->head_dim == 0 &&
      spec->hidden_size % spec->attention_heads != 0) {
    blis__problems_add(&problems,
                       "hidden_size (%" PRId64 ") is not divisible by attention_heads (%" PRId64
                       ") and head_dim is missing",
                       spec->hidden_size, spec->attention_heads);
  }
  return blis__problems_status(&problems, "model", spec->name, error);
}

static blis_status add_layers(const blis_model_spec *spec, int64_t dense, blis_layered_model *model,
                              blis_error *error) {
  blis_layer layer = blis_model_spec_layer(spec);
  if (dense > 0) {
    blis_layer first = layer;
    first.ffn = dense_of(spec, spec->dense_intermediate_size > 0 ? spec->dense_intermediate_size
                                                                 : spec->intermediate_size);
    BLIS_TRY(blis_layered_model_add(model, &first, dense, error));
  }
  return dense == spec->layers ? BLIS_OK
                               : blis_layered_model_add(model, &layer, spec->layers - dense, error);
}

blis_status blis_model_spec_expand(const blis_alloc *alloc, const blis_model_spec *spec,
                                   blis_layered_model *model, blis_error *error) {
  int64_t dense = dense_layers_of(spec);
  BLIS_TRY(blis_model_spec_validate(spec, error));
  BLIS_TRY(check_sizes(spec, dense > 0 || !blis_model_spec_is_moe(spec), error));
  blis_layered_model made;
  blis_layered_model_init(&made, alloc);
  blis_model_spec_copy_frame(spec, &made);
  blis_status status = add_layers(spec, dense, &made, error);
  if (status != BLIS_OK) {
    blis_layered_model_free(&made);
    return status;
  }
  *model = made;
  return BLIS_OK;
}

/* From layers to a description. */

/* Returns the attention part that step-time models with identical layers use for all layers. It is
   the one with the most heads among layers that cache every token, or among all layers if no layer
   does. */
static const blis_attention *widest_attention(const blis_layered_model *model) {
  const blis_attention *widest = NULL;
  int64_t most = -1;
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_attention *a = &model->runs[i].layer.attention;
    bool grows = a->kind == BLIS_ATTENTION_FULL || a->kind == BLIS_ATTENTION_LATENT ||
                 a->kind == BLIS_ATTENTION_COMPRESSED || a->kind == BLIS_ATTENTION_PARALLEL;
    int64_t width = a->heads > 0 ? (grows ? INT64_C(1) << 40 : 0) + a->heads : 0;
    if (width > most) {
      most = width;
      widest = a;
    }
  }
  return widest;
}

static const blis_ffn *first_ffn(const blis_layered_model *model, bool has_experts) {
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_ffn *f = &model->runs[i].layer.ffn;
    bool has = has_experts ? f->experts > 0 : f->width > 0;
    if (has) {
      return f;
    }
  }
  return NULL;
}

/*
 * Returns the nominal bytes of the class with the most weights, without scales; 0 = the model's
 * type.
 */
static double main_bytes(const blis_layered_model *model) {
  static const double BYTES[BLIS_KIND_COUNT] = {0.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5};
  double weights[BLIS_KIND_COUNT] = {0.0};
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_layer_run *run = &model->runs[i];
    blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
    size_t count = blis_layer_matrices(&run->layer, model->hidden_size, matrices);
    for (size_t j = 0; j < count; j++) {
      const blis_matrix *m = &matrices[j];
      blis_weight_kind kind = m->is_small ? BLIS_KIND_MODEL : run->layer.formats[m->class].kind;
      weights[kind] += (double)run->count * m->copies * m->rows * m->columns;
    }
  }
  int best = 0;
  for (int kind = 1; kind < BLIS_KIND_COUNT; kind++) {
    best = weights[kind] > weights[best] ? kind : best;
  }
  return BYTES[best];
}

static int64_t count_dense(const blis_layered_model *model) {
  int64_t sum = 0;
  for (size_t i = 0; i < model->run_count; i++) {
    sum += model->runs[i].layer.ffn.kind == BLIS_FFN_DENSE ? model->runs[i].count : 0;
  }
  return sum;
}

static void set_attention(const blis_attention *a, blis_model_spec *spec) {
  spec->attention_heads = a->heads > 0 ? a->heads : a->value_heads;
  if (a->kind == BLIS_ATTENTION_LATENT) {
    spec->kv_heads = a->heads;
    spec->kv_lora_rank = a->kv_rank;
    spec->qk_rope_head_dim = a->rope_dim;
    return;
  }
  spec->kv_heads = a->kv_heads;
  spec->head_dim = a->head_dim;
}

static void set_ffn(const blis_layered_model *model, blis_model_spec *spec) {
  const blis_ffn *dense = first_ffn(model, false);
  const blis_ffn *moe = first_ffn(model, true);
  spec->intermediate_size = dense != NULL ? dense->width : moe != NULL ? moe->expert_width : 0;
  if (moe == NULL) {
    return;
  }
  spec->experts = moe->experts;
  spec->experts_per_token = blis_max_i64(moe->experts_per_token, 1);
  spec->expert_intermediate_size = moe->expert_width;
  spec->shared_expert_intermediate_size = moe->shared_width;
  int64_t dense_layers = count_dense(model);
  if (2 * dense_layers >= spec->layers) {
    spec->interleave_moe_layer_step = 1;
    spec->dense_intermediate_size = spec->intermediate_size;
  } else {
    spec->first_k_dense_replace = dense_layers;
  }
}

blis_model_spec blis_layered_model_spec(const blis_layered_model *model) {
  blis_model_spec spec = {.layers = blis_layered_model_layers(model),
                          .hidden_size = model->hidden_size,
                          .vocab_size = model->vocabulary,
                          .bytes_per_param = model->model_bytes,
                          .weight_bytes_per_param = main_bytes(model),
                          .tie_word_embeddings = model->has_tied_embeddings,
                          .max_model_tokens = model->max_tokens};
  (void)snprintf(spec.name, sizeof spec.name, "%s", model->name);
  (void)snprintf(spec.quantization, sizeof spec.quantization, "%.31s", model->quantization);
  const blis_attention *attention = widest_attention(model);
  if (attention != NULL) {
    set_attention(attention, &spec);
  }
  set_ffn(model, &spec);
  const blis_ffn *any =
      first_ffn(model, false) != NULL ? first_ffn(model, false) : first_ffn(model, true);
  (void)snprintf(spec.activation, sizeof spec.activation, "%s",
                 any != NULL && any->matrices == 2 ? "relu" : "silu");
  return spec;
}
