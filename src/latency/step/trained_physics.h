/*
 * trained_physics.h - models step time as a fitted sum of physical terms: compute and KV traffic of
 * prefill and decode, weight traffic, communication, and overheads per layer, request, and step.
 * Source: BLIS, "trained-physics", since v0.7.1. The default fit is "iter29" (August 2026).
 *
 * The coefficients were fitted to short-prompt chat traffic on H100: do not extrapolate to
 * prefill-heavy loads, for which the model is faster than the hardware. Every chunk is charged
 * prefill attention for the whole prompt.
 *
 * The time is computed exactly from sums, O(1).
 */
#ifndef BLIS_LATENCY_STEP_TRAINED_PHYSICS_H
#define BLIS_LATENCY_STEP_TRAINED_PHYSICS_H

#include "latency/hardware/hardware_spec.h"
#include "latency/hardware/parallelism.h"
#include "latency/model/model_spec.h"
#include "latency/step/coefficients.h"
#include "latency/step/latency_model.h"

enum { BLIS_TRAINED_PHYSICS_BETA_MIN = 7, BLIS_TRAINED_PHYSICS_BETA_MAX = 11 };

/*
 * Requires 3 alphas and 7 to 11 betas: prefill compute, decode compute, weights, communication,
 * layer, request, step, interleaved MoE layer, prefill KV, decode KV, MoE dispatch. Missing betas
 * are 0, except that the default of MoE dispatch equals the beta of communication. With fewer than
 * 9 betas, prefill costs the maximum of compute and KV traffic instead of their weighted sum. The
 * same applies to decode with fewer than 10 betas.
 *
 * TP must divide the attention heads and the KV heads. DP above 1 requires an MoE model. Fills
 * *out, which the caller owns. A failure leaves *out unchanged, and the error names the field and
 * its value.
 */
BLIS_MUSTUSE blis_status blis_trained_physics_new(const blis_alloc *alloc,
                                                  const blis_model_spec *model,
                                                  const blis_hardware_spec *hardware,
                                                  const blis_parallelism *parallelism,
                                                  const blis_coefficients *coefficients,
                                                  blis_latency_model *out, blis_error *error);

#endif
