#include "latency/step/slowed.h"

#include "base/time.h"

static int64_t scale(double factor, int64_t step_us) {
  double scaled_us = (double)step_us * factor;
  if (scaled_us < 1) {
    return 1;
  }
  return scaled_us < 0x1p62 ? (int64_t)scaled_us : BLIS_TIME_NEVER_US;
}

static double factor_of(const blis_slowed_latency *slowed, bool is_prefill) {
  return is_prefill ? slowed->prefill_factor : slowed->decode_factor;
}

static bool have_prefill(const blis_batch_item *items, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (items[i].progress_tokens < items[i].prompt_tokens) {
      return true;
    }
  }
  return false;
}

static blis_status step_time(void *state, const blis_batch_item *items, size_t count,
                             int64_t *step_us, blis_error *error) {
  const blis_slowed_latency *slowed = state;
  int64_t usual_us;
  BLIS_TRY(blis_latency_step_time(slowed->model, items, count, &usual_us, error));
  *step_us = scale(factor_of(slowed, have_prefill(items, count)), usual_us);
  return BLIS_OK;
}

static bool step_time_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  const blis_slowed_latency *slowed = state;
  int64_t usual_us;
  if (!blis_latency_step_time_from_sums(slowed->model, sums, &usual_us)) {
    return false;
  }
  *step_us = scale(factor_of(slowed, sums->prefill_tokens > 0), usual_us);
  return true;
}

static size_t decode_times(const void *state, int64_t decodes, int64_t context, size_t count,
                           int64_t *step_us) {
  const blis_slowed_latency *slowed = state;
  size_t told = blis_latency_decode_times(slowed->model, decodes, context, count, step_us);
  for (size_t i = 0; i < told; i++) {
    step_us[i] = scale(slowed->decode_factor, step_us[i]);
  }
  return told;
}

static int64_t queueing_time(const void *state, int64_t prompt_tokens) {
  const blis_slowed_latency *slowed = state;
  return blis_latency_queueing_time(slowed->model, prompt_tokens);
}

static int64_t output_token_time(const void *state) {
  const blis_slowed_latency *slowed = state;
  return blis_latency_output_token_time(slowed->model);
}

static int64_t fixed_overhead(const void *state) {
  const blis_slowed_latency *slowed = state;
  return blis_latency_fixed_overhead(slowed->model);
}

static blis_first_token first_token(const void *state) {
  const blis_slowed_latency *slowed = state;
  return blis_latency_first_token(slowed->model);
}

static const blis_coverage *coverage(const void *state) {
  const blis_slowed_latency *slowed = state;
  return blis_latency_coverage(slowed->model);
}

#define OPS                                                                                        \
  .name = "slowed", .step_time = step_time, .step_time_from_sums = step_time_from_sums,            \
  .decode_times = decode_times, .queueing_time = queueing_time,                                    \
  .output_token_time = output_token_time, .fixed_overhead = fixed_overhead,                        \
  .first_token = first_token, .coverage = coverage

static const blis_latency_ops ops = {OPS};
static const blis_latency_ops looking_ahead = {OPS, .may_look_ahead = true};

blis_latency_model blis_slowed_latency_model(blis_slowed_latency *slowed) {
  bool may_look_ahead = slowed->model->ops->may_look_ahead;
  return (blis_latency_model){.ops = may_look_ahead ? &looking_ahead : &ops, .state = slowed};
}
