/*
 * slowed.h - a latency model with the step times of another one scaled by
 * factors: an instance that is throttled, shared or degraded, or whose GPUs
 * have a power cap.
 *
 * Only the time of steps is scaled; queueing and the handling of tokens, which
 * are done by the CPU, take as long as ever. Every answer costs what the other
 * model's answer costs.
 */
#ifndef BLIS_LATENCY_STEP_SLOWED_H
#define BLIS_LATENCY_STEP_SLOWED_H

#include "latency/step/latency_model.h"

typedef struct blis_slowed_latency {
  const blis_latency_model *model; /* borrowed */
  /* For steps that compute prompt tokens, and for the others: > 0, finite; the time is truncated
     to whole us, at least 1. */
  double prefill_factor;
  double decode_factor;
} blis_slowed_latency;

/* Borrows *slowed, whose factors may change between two steps. Nothing to free.
 */
blis_latency_model blis_slowed_latency_model(blis_slowed_latency *slowed);

#endif
