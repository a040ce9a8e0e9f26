/*
 * roofline.h - models step time as the maximum of compute time and memory time over the whole step
 * (Williams et al. 2009, in the form used by BLIS since v0.7.0).
 *
 * Compute time is FLOPs / (peak rate * utilization of the phase). Memory time is (weights, read
 * once per step, + KV + activations) / bandwidth. There are no terms for communication and
 * overheads. The MLP has two matrices unless counts_as_built is set. TP divides all terms, and DP
 * has no effect.
 *
 * step_time sums one rounded quotient per request, so the last bit depends on their order.
 * step_time_from_sums is O(1) and succeeds only if the order cannot matter, which is the case in
 * about 9,999 of 10,000 steps.
 */
#ifndef BLIS_LATENCY_STEP_ROOFLINE_H
#define BLIS_LATENCY_STEP_ROOFLINE_H

#include "latency/hardware/hardware_spec.h"
#include "latency/model/model_spec.h"
#include "latency/step/coefficients.h"
#include "latency/step/latency_model.h"

/*
 * Requires 3 alphas (queueing a0 + a1 * prompt, token time a2); betas are ignored. The hardware
 * must have a peak rate, a bandwidth, and both utilizations. Fills *out, which the caller owns. A
 * failure leaves *out unchanged and reports all errors of the model or the hardware.
 */
BLIS_MUSTUSE blis_status blis_roofline_new(const blis_alloc *alloc, const blis_model_spec *model,
                                           const blis_hardware_spec *hardware, int64_t tp,
                                           const blis_coefficients *coefficients,
                                           blis_latency_model *out, blis_error *error);

#endif
