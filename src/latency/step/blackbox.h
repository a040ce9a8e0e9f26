/*
 * blackbox.h - models step time as a linear function of the tokens in the batch. This is the
 * original model of BLIS (v0.2.0 to v0.7.10).
 *
 * Formula:
 *
 *   beta0 + beta1 * (uncached prefill tokens) + beta2 * (decode tokens)
 *
 * It does not use properties of the model or the GPU, because the coefficients are measured per
 * model, GPU, TP degree, and engine version. The time is computed exactly from sums, O(1).
 */
#ifndef BLIS_LATENCY_STEP_BLACKBOX_H
#define BLIS_LATENCY_STEP_BLACKBOX_H

#include "latency/step/coefficients.h"
#include "latency/step/latency_model.h"

/*
 * Requires 3 alphas (queueing a0 + a1 * prompt, token time a2) and 3 betas; further coefficients
 * are ignored. Fills *model, which the caller owns; a failure leaves it unchanged.
 */
BLIS_MUSTUSE blis_status blis_blackbox_new(const blis_alloc *alloc,
                                           const blis_coefficients *coefficients,
                                           blis_latency_model *model, blis_error *error);

#endif
