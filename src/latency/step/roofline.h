/*
 * roofline.h - step time as the larger of compute time and memory time over
 * the whole step (Williams et al. 2009, as BLIS applies it since v0.7.0).
 *
 * Compute is FLOPs over peak rate times the utilisation of the phase; memory
 * is weights, read once per step, plus KV and activations, over bandwidth. No
 * communication and no overheads; the MLP counts as two matrices, unless the
 * model counts as built. TP divides everything, DP plays no part.
 *
 * The plain evaluation sums one rounded quotient per request, so its last bit
 * depends on their order. The one from sums answers only when that cannot
 * matter (about 9,999 steps of 10,000) and is O(1).
 */
#ifndef BLIS_LATENCY_STEP_ROOFLINE_H
#define BLIS_LATENCY_STEP_ROOFLINE_H

#include "latency/hardware/hardware_spec.h"
#include "latency/model/model_spec.h"
#include "latency/step/coefficients.h"
#include "latency/step/latency_model.h"

/*
 * 3 alphas (queueing a0 + a1 * prompt, token time a2); betas are ignored. The
 * hardware needs peak, bandwidth, and both utilizations. Fills *out, which the
 * caller owns; a failure leaves it unchanged and reports every error of the model
 * or hardware.
 */
BLIS_MUSTUSE blis_status blis_roofline_new(const blis_alloc *alloc, const blis_model_spec *model,
                                           const blis_hardware_spec *hardware, int64_t tp,
                                           const blis_coefficients *coefficients,
                                           blis_latency_model *out, blis_error *error);

#endif
