/*
 * coefficients.h - the fitted coefficients of a latency model, and the three times that are
 * computed from alpha.
 *
 * alpha: a0, a1, a2. Blackbox and roofline queue a request for a0 + a1 * prompt
 * tokens. Trained-physics and calibrated queue it for a0 and add a1 to the E2E
 * latency. All of them add a2 to every output token. Beta determines the step time;
 * its meaning and count depend on the model.
 */
#ifndef BLIS_LATENCY_STEP_COEFFICIENTS_H
#define BLIS_LATENCY_STEP_COEFFICIENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Borrowed arrays. Units are microseconds per unit of the quantity that they multiply. */
typedef struct blis_coefficients {
  const double *alpha;
  size_t alpha_count;
  const double *beta;
  size_t beta_count;
} blis_coefficients;

enum { BLIS_ALPHA_COUNT = 3 };

/*
 * Checks that there are at least 3 alphas and beta_min betas, all finite and >= 0. BLIS_ERR_INVALID
 * names the model, the coefficient, and its value.
 */
BLIS_MUSTUSE blis_status blis_coefficients_validate(const blis_coefficients *coefficients,
                                                    size_t beta_min, const char *model,
                                                    blis_error *error);

/*
 * The state of every model with alphas must begin with this struct, so that blis_latency_ops can
 * use the functions below.
 */
typedef struct blis__alpha {
  double values[BLIS_ALPHA_COUNT];
} blis__alpha;

blis__alpha blis__alpha_from(const blis_coefficients *coefficients);

/* trunc(a0 + a1 * prompt tokens) */
int64_t blis__alpha_linear_queueing(const void *state, int64_t prompt_tokens);

/* trunc(a0) */
int64_t blis__alpha_constant_queueing(const void *state, int64_t prompt_tokens);

/* trunc(a1) */
int64_t blis__alpha_overhead(const void *state);

/* trunc(a2) */
int64_t blis__alpha_token_time(const void *state);

#endif
