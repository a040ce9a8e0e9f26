/*
 * copied.h - a latency model for one of several replicas that compute together. It wraps another
 * model and returns that model's step time for one copy of the batch per replica.
 *
 * The wrapped model handles experts that are spread over all replicas; the step of a replica takes
 * as long as if all replicas had the same batch. With sums, the cost is that of the wrapped model.
 * If the wrapped model does not support sums, the items are copied for each replica.
 */
#ifndef BLIS_LATENCY_STEP_COPIED_H
#define BLIS_LATENCY_STEP_COPIED_H

#include "latency/step/latency_model.h"

/*
 * Fills *out, which the caller owns. Takes ownership of *model, which must be a built-in model,
 * even on failure. copies >= 1.
 */
BLIS_MUSTUSE blis_status blis_copied_latency_new(const blis_alloc *alloc, blis_latency_model *model,
                                                 int64_t copies, blis_latency_model *out,
                                                 blis_error *error);

#endif
