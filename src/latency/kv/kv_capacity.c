#include "latency/kv/kv_capacity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/minmax.h"
#include "latency/hardware/parallelism.h"
#include "latency/model/transformer.h"
#include "latency/spec/numbers.h"

static const double GIB = 1073741824.0;
static const double MOE_ACTIVATIONS_GIB = 8.0;
static const double DENSE_ACTIVATIONS_GIB = 5.5;
static const double NON_TORCH_GIB_ALONE = 0.15; /* per GPU, TP = 1 */
static const double NON_TORCH_GIB = 0.6;        /* per GPU, TP > 1 */

/* Exact arithmetic on sizes. An overflow permanently marks the sum as invalid. */
typedef struct size_sum {
  int64_t value;
  bool is_too_large;
} size_sum;

static int64_t times(size_sum *sum, int64_t a, int64_t b) {
  if (a != 0 && b > INT64_MAX / a) {
    sum->is_too_large = true;
    return 0;
  }
  return a * b;
}

static void add(size_sum *sum, int64_t value) {
  if (value > INT64_MAX - sum->value) {
    sum->is_too_large = true;
    return;
  }
  sum->value += value;
}

static blis_status head_dim_of(const blis_model_spec *model, int64_t *head_dim, blis_error *error) {
  if (model->head_dim > 0) {
    *head_dim = model->head_dim;
    return BLIS_OK;
  }
  if (model->hidden_size % model->attention_heads != 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "model %s: hidden_size (%" PRId64
                     ") is not divisible by attention_heads (%" PRId64 ") and head_dim is missing",
                     model->name, model->hidden_size, model->attention_heads);
  }
  *head_dim = model->hidden_size / model->attention_heads;
  return BLIS_OK;
}

blis_status blis_kv_bytes_per_token(const blis_model_spec *model, int64_t tp,
                                    double *bytes_per_token, blis_error *error) {
  blis_parallelism parallelism = {.tp = tp, .dp = 1};
  BLIS_TRY(blis_parallelism_validate(&parallelism, error));
  BLIS_TRY(blis_model_spec_validate(model, error));
  if (model->kv_lora_rank > 0) {
    *bytes_per_token = (double)model->layers *
                       (double)(model->kv_lora_rank + model->qk_rope_head_dim) *
                       model->bytes_per_param;
    return BLIS_OK;
  }
  int64_t head_dim = 0;
  BLIS_TRY(head_dim_of(model, &head_dim, error));
  int64_t kv_heads = blis_model_spec_kv_heads(model);
  if (kv_heads >= tp && kv_heads % tp != 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "model %s: kv_heads (%" PRId64 ") must be divisible by tp (%" PRId64 ")",
                     model->name, kv_heads, tp);
  }
  if (model->counts_as_built) {
    kv_heads = blis_max_i64(kv_heads, tp); /* every GPU has at least one */
  }
  *bytes_per_token = (double)model->layers * 2.0 * (double)head_dim * (double)kv_heads *
                     model->bytes_per_param / (double)tp;
  return BLIS_OK;
}

/* Returns the parameters of the FFNs of all layers. FFNs have three matrices. */
static int64_t ffn_params(const blis_model_spec *model, size_sum *sum) {
  int64_t d3 = 3 * model->hidden_size;
  int64_t dense = times(sum, d3, model->intermediate_size);
  if (!blis_model_spec_is_moe(model)) {
    return times(sum, model->layers, dense);
  }
  int64_t width = model->expert_intermediate_size > 0 ? model->expert_intermediate_size
                                                      : model->intermediate_size;
  size_sum moe = {0};
  add(&moe, times(sum, times(sum, d3, width), model->experts));
  add(&moe, times(sum, d3, model->shared_expert_intermediate_size));
  add(&moe, times(sum, model->experts, model->hidden_size)); /* the router */
  int64_t prefix =
      model->dense_intermediate_size > 0 ? times(sum, d3, model->dense_intermediate_size) : dense;
  int64_t prefix_layers =
      model->first_k_dense_replace < model->layers ? model->first_k_dense_replace : model->layers;
  size_sum all = {0};
  add(&all, times(sum, prefix_layers, prefix));
  add(&all, times(sum, model->layers - prefix_layers, moe.value));
  sum->is_too_large |= moe.is_too_large || all.is_too_large;
  return all.value;
}

static blis_status check_weights(const blis_model_spec *model, blis_error *error) {
  BLIS_TRY(blis_model_spec_validate(model, error));
  blis__problems problems = {0};
  if (model->intermediate_size == 0) {
    blis__problems_add(&problems, "intermediate_size is missing");
  }
  if (model->vocab_size == 0) {
    blis__problems_add(&problems, "vocab_size is missing");
  }
  if (model->experts_unknown) {
    blis__problems_add(&problems, "it uses experts, but their number is not stated; give "
                                  "the KV block count (--total-kv-blocks)");
  }
  return blis__problems_status(&problems, "model", model->name, error);
}

static blis_status fail_too_large(const blis_model_spec *model, blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID,
                   "model %s: its dimensions give too many weights to count", model->name);
}

blis_status blis_model_params(const blis_model_spec *model, int64_t *params, blis_error *error) {
  BLIS_TRY(check_weights(model, error));
  int64_t head_dim = 0;
  BLIS_TRY(head_dim_of(model, &head_dim, error));
  int64_t d = model->hidden_size;
  size_sum sum = {0};
  int64_t kv_width = times(&sum, blis_model_spec_kv_heads(model), head_dim);
  int64_t q_width = blis_model_spec_q_width(model);
  size_sum layer = {0}; /* attention and its two norms */
  add(&layer, times(&sum, d, q_width));
  add(&layer, times(&sum, d, q_width));
  add(&layer, times(&sum, 2 * d, kv_width));
  add(&layer, 2 * d);
  int64_t embedding = times(&sum, model->vocab_size, d);
  add(&sum, embedding);
  add(&sum, times(&sum, model->layers, layer.value));
  add(&sum, ffn_params(model, &sum));
  add(&sum, model->tie_word_embeddings ? 0 : embedding);
  add(&sum, d);
  if (sum.is_too_large || layer.is_too_large) {
    return fail_too_large(model, error);
  }
  *params = sum.value;
  return BLIS_OK;
}

blis_status blis_model_weight_bytes(const blis_model_spec *model, int64_t *weight_bytes,
                                    blis_error *error) {
  int64_t params = 0;
  BLIS_TRY(blis_model_params(model, &params, error));
  double bytes = (double)params * blis_model_spec_weight_bytes(model);
  if (!(bytes < 0x1p62)) {
    return fail_too_large(model, error);
  }
  *weight_bytes = (int64_t)bytes;
  return BLIS_OK;
}

static blis_status check_config(const blis_kv_capacity_config *config, blis_error *error) {
  const blis_hardware_spec *hardware = config->hardware;
  blis_parallelism parallelism = {.tp = config->tp, .dp = config->dp};
  BLIS_TRY(blis_parallelism_validate(&parallelism, error));
  BLIS_TRY(blis_hardware_spec_validate(hardware, error));
  if (!(config->memory_utilization > 0.0 && config->memory_utilization <= 1.0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "GPU memory utilization must be above 0 and at most 1, "
                     "got %g",
                     config->memory_utilization);
  }
  if (config->block_size_tokens <= 0 || config->reserved_bytes < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "KV capacity: block size must be positive and reserved "
                     "bytes not negative, got %" PRId64 " and %" PRId64,
                     config->block_size_tokens, config->reserved_bytes);
  }
  if (hardware->memory_gib <= 0.0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "hardware %s: memory_gib (MemoryGiB) is missing; state "
                     "it or give the KV block count (--total-kv-blocks)",
                     hardware->name);
  }
  return BLIS_OK;
}

static blis_status check_activation(const blis_model_spec *model, blis_error *error) {
  static const char *const KNOWN[] = {"", "silu", "swiglu", "geglu", "situ"};
  for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
    if (strcmp(model->activation, KNOWN[i]) == 0) {
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "model %s: activation '%s' has an unknown FFN size; expected silu, "
                   "swiglu, geglu or situ, or give the KV block count (--total-kv-blocks)",
                   model->name, model->activation);
}

/* Returns the activations for all GPUs together, like BLIS (Go). */
static double activations_gib(const blis_model_spec *model) {
  return blis_model_spec_is_moe(model) ? MOE_ACTIVATIONS_GIB : DENSE_ACTIVATIONS_GIB;
}

static blis_status fail_too_small(const blis_kv_capacity_config *config, const blis_kv_capacity *c,
                                  blis_error *error) {
  double per_gpu = config->hardware->memory_gib * config->memory_utilization - NON_TORCH_GIB;
  double shared_gib = activations_gib(config->model);
  if (config->is_per_gpu) {
    per_gpu -= DENSE_ACTIVATIONS_GIB;
    shared_gib -= DENSE_ACTIVATIONS_GIB;
  }
  char remedy[80];
  if (per_gpu > 0.0) {
    double gpus = ceil((c->weights_gib + shared_gib + c->reserved_gib) / per_gpu);
    (void)snprintf(remedy, sizeof remedy, "at least %.0f GPUs are needed", gpus);
  } else {
    (void)snprintf(remedy, sizeof remedy, "no number of GPUs suffices");
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "model %s does not fit: overhead %.2f GiB (weights %.2f + activations "
                   "%.2f + non-torch %.2f + adapters %.2f), available %.2f GiB (%s: %g GiB "
                   "per GPU x %g utilization x %" PRId64 " GPU%s); %s",
                   config->model->name, c->overhead_gib, c->weights_gib, c->activations_gib,
                   c->non_torch_gib, c->reserved_gib, c->memory_gib, config->hardware->name,
                   config->hardware->memory_gib, config->memory_utilization, config->tp,
                   config->tp == 1 ? "" : "s", remedy);
}

/* Returns the bytes of the routed experts on other replicas or ranks. */
static double experts_elsewhere_bytes(const blis_kv_capacity_config *config) {
  int64_t sharing = config->is_per_gpu ? config->dp : 1;
  sharing = blis_max_i64(sharing, config->ranks);
  if (sharing == 1 || !blis_model_spec_is_moe(config->model)) {
    return 0.0;
  }
  const blis_transformer parts = blis_transformer_of(config->model);
  double experts = (double)config->model->experts * parts.expert * parts.moe_layers;
  return experts * blis_model_spec_weight_bytes(config->model) * (1.0 - 1.0 / (double)sharing);
}

static void sum_up_memory(const blis_kv_capacity_config *config, blis_kv_capacity *c) {
  double tp = (double)config->tp;
  c->memory_gib = config->hardware->memory_gib * config->memory_utilization * tp;
  c->weights_gib = ((double)c->weight_bytes - experts_elsewhere_bytes(config)) / GIB;
  c->activations_gib = activations_gib(config->model);
  if (config->is_per_gpu) {
    /* Every GPU has the activations of the whole hidden state. Those of experts are split. */
    c->activations_gib += (tp - 1) * DENSE_ACTIVATIONS_GIB;
  }
  c->non_torch_gib = (config->tp == 1 ? NON_TORCH_GIB_ALONE : NON_TORCH_GIB) * tp;
  c->reserved_gib = (double)config->reserved_bytes / GIB;
  c->overhead_gib = c->weights_gib + c->activations_gib + c->non_torch_gib + c->reserved_gib;
}

blis_status blis_kv_capacity_compute(const blis_kv_capacity_config *config,
                                     blis_kv_capacity *capacity, blis_error *error) {
  const blis_model_spec *model = config->model;
  BLIS_TRY(check_config(config, error));
  BLIS_TRY(blis_kv_bytes_per_token(model, config->tp, &capacity->bytes_per_token, error));
  BLIS_TRY(blis_model_params(model, &capacity->params, error));
  BLIS_TRY(blis_model_weight_bytes(model, &capacity->weight_bytes, error));
  BLIS_TRY(check_activation(model, error));
  capacity->bytes_per_block =
      blis__truncate(capacity->bytes_per_token * (double)config->block_size_tokens);
  if (capacity->bytes_per_block <= 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "model %s: a KV block of %" PRId64 " tokens is smaller than a byte",
                     model->name, config->block_size_tokens);
  }
  sum_up_memory(config, capacity);
  if (capacity->overhead_gib >= capacity->memory_gib) {
    return fail_too_small(config, capacity, error);
  }
  double left = (capacity->memory_gib - capacity->overhead_gib) * GIB;
  if (config->is_per_gpu) {
    left /= (double)config->tp;
  }
  capacity->allocatable_bytes = blis__truncate(left);
  int64_t blocks = capacity->allocatable_bytes / capacity->bytes_per_block;
  int64_t replicas = blis_model_spec_is_moe(model) ? config->dp : 1;
  if (blocks == 0 || blocks > INT64_MAX / replicas) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "model %s on %s: %.2f GiB are left for KV blocks of "
                     "%" PRId64 " bytes",
                     model->name, config->hardware->name, left / GIB, capacity->bytes_per_block);
  }
  capacity->blocks = blocks * replicas;
  return BLIS_OK;
}

int64_t blis_kv_limit_model_tokens(int64_t max_model_tokens, int64_t blocks,
                                   int64_t block_size_tokens) {
  int64_t needed =
      max_model_tokens / block_size_tokens + (max_model_tokens % block_size_tokens != 0);
  return needed > blocks ? blocks * block_size_tokens : max_model_tokens;
}
