#include "policy/autoscale/planner.h"

#include <math.h>

#include "base/minmax.h"

blis_planner_pools blis_planner_share_budget(blis_planner_pools wanted, blis_planner_pools gpus,
                                             blis_planner_pools min, int64_t max_gpus) {
  int64_t total = wanted.prefill * gpus.prefill + wanted.decode * gpus.decode;
  if (total <= max_gpus) {
    return wanted;
  }
  if (min.prefill * gpus.prefill + min.decode * gpus.decode > max_gpus) {
    return (blis_planner_pools){0, 0};
  }
  double scale = (double)max_gpus / (double)total;
  int64_t room = (max_gpus - min.decode * gpus.decode) / gpus.prefill;
  int64_t prefill =
      blis_max_i64(min.prefill, blis_min_i64(room, (int64_t)floor((double)wanted.prefill * scale)));
  int64_t decode = blis_max_i64(min.decode, (max_gpus - prefill * gpus.prefill) / gpus.decode);
  return (blis_planner_pools){prefill, decode};
}

blis_planner_sides blis_planner_sides_of(const blis_scale_context *context) {
  bool is_prefill = context->role != BLIS_SCALE_DECODE;
  bool is_decode = context->role != BLIS_SCALE_PREFILL;
  return (blis_planner_sides){is_prefill ? context->own : context->other,
                              is_decode ? context->own : context->other};
}

int64_t blis_planner_free(const blis_scale_context *context, double budget, double own_cost,
                          double other_cost) {
  double others = context->other == NULL ? 0 : context->other->replicas;
  double room = floor((budget - others * other_cost) / own_cost);
  // Compared as doubles, because the available number may exceed an integer.
  return (int64_t)fmax(context->replicas, fmin(room, UINT32_MAX));
}

static int64_t at_least_one(double replicas) {
  return replicas > 1 ? (int64_t)ceil(replicas) : 1;
}

int64_t blis_planner_prefill(const blis_scale_model *model, const blis_planner_load *load) {
  double alone_us = model->step_us(model->state, load->prompt_tokens, 0, 0);
  double by_rate = load->requests_per_s * alone_us / 1e6;
  // If one prompt alone misses the target, the number of replicas is scaled by the ratio.
  double by_target = alone_us > load->ttft_us ? alone_us / load->ttft_us : 1;
  return at_least_one(fmax(by_rate, by_target));
}

/* Returns the context length of a request halfway through its output. */
static double context_of(const blis_planner_load *load) {
  return fmax(1, load->prompt_tokens + load->output_tokens / 2);
}

double blis_planner_itl_us(const blis_scale_model *model, const blis_planner_load *load,
                           double batch) {
  double step_us = model->step_us(model->state, 0, batch, batch * context_of(load));
  return step_us / fmax(1, load->accept_length);
}

double blis_planner_batch(const blis_scale_model *model, const blis_planner_load *load) {
  double low = 1;
  double high = fmax(1, floor(load->kv_capacity_tokens / context_of(load)));
  if (load->requests_max > 0) {
    high = fmin(high, load->requests_max);
  }
  while (low < high) {
    double middle = ceil((low + high) / 2);
    if (blis_planner_itl_us(model, load, middle) <= load->itl_us) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

double blis_planner_token_us(const blis_scale_model *model, const blis_planner_load *load) {
  double batch = blis_planner_batch(model, load);
  return blis_planner_itl_us(model, load, batch) / batch;
}

int64_t blis_planner_decode(const blis_scale_model *model, const blis_planner_load *load) {
  double requests_per_s = 1e6 / (fmax(1, load->output_tokens) * blis_planner_token_us(model, load));
  return at_least_one(load->requests_per_s / requests_per_s);
}
