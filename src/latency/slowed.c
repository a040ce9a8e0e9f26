#include "latency/slowed.h"

#include "base/time.h"

static int64_t scale(const blis_slowed_latency *slowed, int64_t step_us) {
  double scaled_us = (double)step_us * slowed->factor;
  if (scaled_us < 1) {
    return 1;
  }
  return scaled_us < 0x1p62 ? (int64_t)scaled_us : BLIS_TIME_NEVER_US;
}

static blis_status step_time(void *state, const blis_batch_item *items,
                             size_t count, int64_t *step_us,
                             blis_error *error) {
  const blis_slowed_latency *slowed = state;
  int64_t usual_us;
  BLIS_TRY(
      blis_latency_step_time(slowed->model, items, count, &usual_us, error));
  *step_us = scale(slowed, usual_us);
  return BLIS_OK;
}

static bool step_time_from_sums(const void *state, const blis_batch_sums *sums,
                                int64_t *step_us) {
  const blis_slowed_latency *slowed = state;
  int64_t usual_us;
  if (!blis_latency_step_time_from_sums(slowed->model, sums, &usual_us)) {
    return false;
  }
  *step_us = scale(slowed, usual_us);
  return true;
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

static const blis_latency_ops ops = {.name = "slowed",
                                     .step_time = step_time,
                                     .step_time_from_sums = step_time_from_sums,
                                     .queueing_time = queueing_time,
                                     .output_token_time = output_token_time,
                                     .fixed_overhead = fixed_overhead,
                                     .first_token = first_token,
                                     .coverage = coverage};

blis_latency_model blis_slowed_latency_model(blis_slowed_latency *slowed) {
  return (blis_latency_model){.ops = &ops, .state = slowed};
}
