/*
 * slowed.h - a latency model that scales the step times of another model. It is used for instances
 * that are throttled, shared, or degraded, or whose GPUs have a power cap.
 *
 * Only step times are scaled. Times for queueing and token handling do not change, because this
 * work runs on the CPU. The cost is that of the wrapped model.
 */
#ifndef BLIS_LATENCY_STEP_SLOWED_H
#define BLIS_LATENCY_STEP_SLOWED_H

#include "latency/step/latency_model.h"

typedef struct blis_slowed_latency {
  const blis_latency_model *model; /* borrowed */
  /* Factors (> 0, finite) for steps that compute prompt tokens, and for all other steps. Scaled
     times are truncated to whole us, and are at least 1. */
  double prefill_factor;
  double decode_factor;
} blis_slowed_latency;

/* Borrows *slowed. Its factors may change between two steps. The result need not be freed. */
blis_latency_model blis_slowed_latency_model(blis_slowed_latency *slowed);

#endif
