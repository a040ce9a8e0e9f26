/*
 * piecewise.h - models linear prefill and piecewise linear decode times, like the compute model of
 * RouteSim (design document, February 2026).
 *
 * Formulas:
 *
 *   prefill of t tokens    t / prefill_tokens_per_sec
 *   one token for each     b / T(b), where the throughput T rises linearly
 *   of b decodes           from decode_tokens_per_sec_batch1 at b = 1 to
 *                          decode_tokens_per_sec_saturated at b =
 *                          decode_saturation_batch, and is constant above
 *
 * Prefill and decode do not affect each other: a step with both takes as long as the longer part.
 * Context length and GPU have no effect. The time is computed exactly from sums, O(1).
 */
#ifndef BLIS_LATENCY_STEP_PIECEWISE_H
#define BLIS_LATENCY_STEP_PIECEWISE_H

#include "latency/step/latency_model.h"

typedef struct blis_piecewise_params {
  double prefill_tokens_per_sec;
  double decode_tokens_per_sec_batch1;
  double decode_saturation_batch; /* requests, >= 1 */
  double decode_tokens_per_sec_saturated;
  bool whole_milliseconds; /* round times up to 1 ms, like RouteSim's program, instead of to 1 us */
} blis_piecewise_params;

/* Returns RouteSim's defaults: 50,000 and 80 tokens/s, batch 64, 3,200 tokens/s, exact times. */
blis_piecewise_params blis_piecewise_defaults(void);

/*
 * All numbers must be finite and positive; otherwise, BLIS_ERR_INVALID names the invalid one. Fills
 * *model, which the caller owns; a failure leaves it unchanged. Queueing, token, and overhead times
 * are 0.
 */
BLIS_MUSTUSE blis_status blis_piecewise_new(const blis_alloc *alloc,
                                            const blis_piecewise_params *params,
                                            blis_latency_model *model, blis_error *error);

#endif
