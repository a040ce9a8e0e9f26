#include "latency/layers/totals.h"

#include <inttypes.h>
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"

/* vLLM pads the vocabulary to a multiple of this. */
static const double VOCABULARY_STEP = 64.0;

/* Returns the number of weights outside of the layers: the last norm, and others. */
static double loose_weights(const blis_layered_model *model) {
  return (double)model->hidden_size + model->other_weights;
}

static double embedding_weights(const blis_layered_model *model) {
  return (double)model->vocabulary * (double)model->hidden_size;
}

double blis_layered_parameters(const blis_layered_model *model) {
  double sum = embedding_weights(model) * (model->has_tied_embeddings ? 1.0 : 2.0);
  sum += loose_weights(model);
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_layer_run *run = &model->runs[i];
    sum += (double)run->count * blis_layer_weights(&run->layer, model->hidden_size);
  }
  return sum;
}

double blis_layered_active_parameters(const blis_layered_model *model) {
  double sum = embedding_weights(model) * (model->has_tied_embeddings ? 1.0 : 2.0);
  sum += loose_weights(model);
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_layer_run *run = &model->runs[i];
    sum += (double)run->count * blis_layer_active_weights(&run->layer, model->hidden_size);
  }
  return sum;
}

/* Returns the bytes of the weights on one GPU, with an embedding of `rows` rows. */
static double bytes_with(const blis_layered_model *model, double rows, int64_t tp,
                         int64_t experts_gpus) {
  double matrix = rows * (double)model->hidden_size;
  double head_bytes = model->head.bytes > 0.0 ? model->head.bytes : model->model_bytes;
  double sum = (matrix + loose_weights(model)) * model->model_bytes;
  sum += model->has_tied_embeddings ? 0.0 : matrix * head_bytes;
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_layer_run *run = &model->runs[i];
    sum += (double)run->count * blis_layer_weight_bytes(&run->layer, model->hidden_size,
                                                        model->model_bytes, tp, experts_gpus);
  }
  return sum;
}

double blis_layered_weight_bytes(const blis_layered_model *model) {
  return bytes_with(model, (double)model->vocabulary, 1, 1);
}

double blis_layered_weight_bytes_per_gpu(const blis_layered_model *model,
                                         const blis_sharding *sharding) {
  BLIS_ASSERT(sharding->tp >= 1 && sharding->experts_gpus >= 1);
  double padded = ceil((double)model->vocabulary / VOCABULARY_STEP) * VOCABULARY_STEP;
  return bytes_with(model, padded / (double)sharding->tp, sharding->tp, sharding->experts_gpus);
}

blis_cache_widths blis_layered_widths(const blis_layered_model *model) {
  double type = model->model_bytes;
  return (blis_cache_widths){
      .kv = model->kv_bytes > 0.0 ? model->kv_bytes : type,
      .model = type,
      .state = model->recurrent_bytes > 0.0 ? model->recurrent_bytes : type,
  };
}

blis_model_cache blis_layered_cache(const blis_layered_model *model, int64_t tp) {
  BLIS_ASSERT(tp >= 1);
  blis_cache_widths widths = blis_layered_widths(model);
  blis_model_cache sum = {0};
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_layer_run *run = &model->runs[i];
    double count = (double)run->count;
    blis_layer_cache one = blis_layer_cache_of(&run->layer, model->hidden_size, &widths, tp);
    sum.token_bytes += count * one.token_bytes;
    sum.window_bytes += count * one.span_bytes * (double)one.span_tokens;
    sum.span_bytes += one.span_tokens > 0 ? count * one.span_bytes : 0.0;
    sum.span_tokens = blis_max_i64(sum.span_tokens, one.span_tokens);
    sum.state_bytes += count * one.state_bytes;
  }
  return sum;
}

static bool has_heads(const blis_attention *a) {
  return a->kind == BLIS_ATTENTION_FULL || a->kind == BLIS_ATTENTION_WINDOW ||
         a->kind == BLIS_ATTENTION_CHUNK || a->kind == BLIS_ATTENTION_PARALLEL;
}

blis_status blis_layered_check_tp(const blis_layered_model *model, int64_t tp, blis_error *error) {
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_attention *a = &model->runs[i].layer.attention;
    if (a->heads > 0 && a->heads % tp != 0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "model %s: attention_heads (%" PRId64 ") must be divisible by tp (%" PRId64
                       ")",
                       model->name, a->heads, tp);
    }
    bool divides = a->kv_heads == 0 || a->kv_heads % tp == 0 || tp % a->kv_heads == 0;
    if (has_heads(a) && !divides) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "model %s: kv_heads (%" PRId64 ") must be divisible by tp (%" PRId64
                       "), or divide it",
                       model->name, a->kv_heads, tp);
    }
  }
  return BLIS_OK;
}
