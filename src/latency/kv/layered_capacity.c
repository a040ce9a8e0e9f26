#include "latency/kv/layered_capacity.h"

#include <inttypes.h>
#include <math.h>

static const double GIB = 1073741824.0;
static const double ACTIVATION_BYTES = 2.0;
static const double LOGIT_BYTES = 16.0; /* several copies of a 32-bit value */
static const double FIXED_GIB = 0.45;
static const double PARALLEL_GIB = 0.25; /* collectives, with TP above 1 */
static const double BLOCK_EXPERTS_GIB = 4.0;

/*
 * Returns the number of elements per token that the feed-forward part of a layer holds at the same
 * time on one of tp GPUs.
 */
static double ffn_elements(const blis_ffn *ffn, double hidden, double tp) {
  double matrices = (double)ffn->matrices;
  double dense = matrices * (double)ffn->width / tp;
  double experts =
      (double)ffn->experts_per_token * (matrices * (double)ffn->expert_width / tp + hidden);
  switch (ffn->kind) {
  case BLIS_FFN_DENSE:
    return dense;
  case BLIS_FFN_MOE:
    return experts;
  case BLIS_FFN_MOE_DENSE:
    return fmax(dense, experts);
  default:
    return 0.0;
  }
}

static double activation_bytes(const blis_layered_capacity_config *config) {
  double hidden = (double)config->pages.hidden_size;
  double widest = 0.0;
  for (size_t i = 0; i < config->pages.run_count; i++) {
    const blis_ffn *ffn = &config->pages.runs[i].layer.ffn;
    widest = fmax(widest, ffn_elements(ffn, hidden, (double)config->pages.tp));
  }
  return ACTIVATION_BYTES * (double)config->step_tokens * (4.0 * hidden + widest);
}

static double fixed_gib(const blis_layered_capacity_config *config) {
  double sum = FIXED_GIB + (config->pages.tp > 1 ? PARALLEL_GIB : 0.0);
  for (size_t i = 0; i < config->pages.run_count; i++) {
    const blis_layer *layer = &config->pages.runs[i].layer;
    bool has_experts = layer->ffn.kind == BLIS_FFN_MOE || layer->ffn.kind == BLIS_FFN_MOE_DENSE;
    if (has_experts && layer->formats[BLIS_WEIGHT_EXPERTS].kind == BLIS_KIND_FP8_BLOCK) {
      return sum + BLOCK_EXPERTS_GIB;
    }
  }
  return sum;
}

static blis_status check_config(const blis_layered_capacity_config *config, blis_error *error) {
  if (!(config->utilization > 0.0 && config->utilization <= 1.0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "GPU memory utilization is %g; expected a number above 0 and at most 1",
                     config->utilization);
  }
  if (!(config->memory_gib > 0.0 && isfinite(config->memory_gib))) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the memory of the GPU is %g GiB; expected a number above 0",
                     config->memory_gib);
  }
  if (config->pages.block_tokens < 1 || config->pages.tp < 1) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "block size is %" PRId64 " and TP %" PRId64 "; expected at least 1",
                     config->pages.block_tokens, config->pages.tp);
  }
  return BLIS_OK;
}

blis_status blis_layered_capacity_compute(const blis_layered_capacity_config *config,
                                          blis_layered_capacity *capacity, blis_error *error) {
  BLIS_TRY(check_config(config, error));
  blis_layered_capacity c = {.memory_gib = config->memory_gib * config->utilization,
                             .weights_gib = config->weight_bytes / GIB,
                             .activations_gib = activation_bytes(config) / GIB,
                             .logits_gib = LOGIT_BYTES * (double)config->vocabulary *
                                           (double)config->sequences / GIB,
                             .fixed_gib = fixed_gib(config),
                             .adapters_gib = config->adapter_bytes / GIB};
  BLIS_TRY(blis_page_groups_make(&config->pages, &c.pages, error));
  c.room_gib = c.memory_gib - c.weights_gib - c.activations_gib - c.logits_gib - c.fixed_gib -
               c.adapters_gib;
  if (c.room_gib > 0.0 && c.pages.block_bytes > 0) {
    c.blocks = (int64_t)fmin(c.room_gib * GIB / (double)c.pages.block_bytes, 0x1p52);
    c.logged_tokens = blis_page_groups_logged_tokens(&c.pages, c.blocks);
  }
  *capacity = c;
  return BLIS_OK;
}
