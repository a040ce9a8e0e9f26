/*
 * copied.h - a latency model of one of several replicas that compute together: the
 * step times of another model for as many copies of the batch.
 *
 * The wrapped model handles experts that are spread over all replicas; a replica's
 * own step takes as long as if all replicas had the same batch. It costs as much as
 * sums in the wrapped model; if that model cannot use sums, a copy of the items for
 * each replica.
 */
#ifndef BLIS_LATENCY_STEP_COPIED_H
#define BLIS_LATENCY_STEP_COPIED_H

#include "latency/step/latency_model.h"

/*
 * Fills *out, which the caller owns; takes *model, a built-in one, even on failure.
 * copies >= 1.
 */
BLIS_MUSTUSE blis_status blis_copied_latency_new(const blis_alloc *alloc, blis_latency_model *model,
                                                 int64_t copies, blis_latency_model *out,
                                                 blis_error *error);

#endif
