#include "latency/step/blackbox.h"

#include "latency/spec/numbers.h"

enum { BETA_COUNT = 3 };

typedef struct blackbox {
  blis__alpha alpha; /* first, for the blis__alpha functions */
  double beta[BETA_COUNT];
} blackbox;

static bool blackbox_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  const blackbox *b = state;
  if (sums->requests == 0) {
    *step_us = 1;
    return true;
  }
  double us = b->beta[0];
  us += b->beta[1] * (double)sums->prefill_tokens;
  us += b->beta[2] * (double)sums->decode_requests;
  *step_us = blis__step_us(us);
  return true;
}

static blis_status blackbox_step_time(void *state, const blis_batch_item *items, size_t count,
                                      int64_t *step_us, blis_error *error) {
  (void)error;
  blis_batch_sums sums = blis_batch_sums_of(items, count);
  (void)blackbox_from_sums(state, &sums, step_us);
  return BLIS_OK;
}

static void blackbox_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(blackbox));
}

static const blis_latency_ops OPS = {
    .name = "blackbox",
    .step_time = blackbox_step_time,
    .step_time_from_sums = blackbox_from_sums,
    .may_look_ahead = true,
    .queueing_time = blis__alpha_linear_queueing,
    .output_token_time = blis__alpha_token_time,
    .free = blackbox_free,
};

blis_status blis_blackbox_new(const blis_alloc *alloc, const blis_coefficients *coefficients,
                              blis_latency_model *model, blis_error *error) {
  BLIS_TRY(blis_coefficients_validate(coefficients, BETA_COUNT, OPS.name, error));
  blackbox *b = blis_alloc_new(alloc, sizeof *b);
  BLIS_TRY_NEW(b, error);
  b->alpha = blis__alpha_from(coefficients);
  for (size_t i = 0; i < BETA_COUNT; i++) {
    b->beta[i] = coefficients->beta[i];
  }
  *model = (blis_latency_model){.ops = &OPS, .state = b, .alloc = *alloc};
  return BLIS_OK;
}
