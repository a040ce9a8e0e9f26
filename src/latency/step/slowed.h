/*
 * slowed.h - a latency model that scales the step times of another model by
 * factors: an instance that is throttled, shared or degraded, or whose GPUs have a
 * power cap.
 *
 * Only the time of steps is scaled. Queueing and the handling of tokens are done by
 * the CPU, and their times are unchanged. Costs equal the wrapped model's.
 */
#ifndef BLIS_LATENCY_STEP_SLOWED_H
#define BLIS_LATENCY_STEP_SLOWED_H

#include "latency/step/latency_model.h"

typedef struct blis_slowed_latency {
  const blis_latency_model *model; /* borrowed */
  /* Factors for steps that compute prompt tokens, and for all other steps: > 0, finite; the time
     is truncated to whole us, at least 1. */
  double prefill_factor;
  double decode_factor;
} blis_slowed_latency;

/* Borrows *slowed, whose factors may change between two steps. Nothing to free.
 */
blis_latency_model blis_slowed_latency_model(blis_slowed_latency *slowed);

#endif
