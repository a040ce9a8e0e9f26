/*
 * load.h - numbers of waiting and running requests at every instance over time, computed from the
 * records of a run.
 *
 * The run from 0 to its end is divided into equal intervals. Numbers are means over an interval: a
 * request that ran for a tenth of the interval counts as 0.1. A request waits from the time it
 * reaches its instance until it is admitted (for the last time, after preemptions), and runs from
 * that time until it ends. Under prefill/decode disaggregation this applies to both instances.
 */
#ifndef BLIS_RESULTS_ANALYSIS_LOAD_H
#define BLIS_RESULTS_ANALYSIS_LOAD_H

#include "results/record/recorder.h"

typedef struct blis_load {
  blis_alloc alloc;
  size_t instance_count;
  size_t interval_count;
  int64_t to_us;
  double *waiting;  /* instance_count rows of interval_count */
  double *running;  /* instance_count rows of interval_count */
  int64_t *arrived; /* number of requests, by interval */
  int64_t *completed;
  /* Of all instances: hand-offs in a KV transfer, and those between prefill and transfer. */
  double *transferring;
  double *before_transfer;
} blis_load;

/*
 * Uses `instances` instances, or more if records contain more. to_us >= 1; later times are ignored.
 * Call deinit even after a failure. O(records + instances * intervals).
 */
BLIS_MUSTUSE blis_status blis_load_init(blis_load *load, const blis_alloc *alloc,
                                        const blis_recorder *recorder, size_t least_instances,
                                        size_t interval_count, int64_t to_us);

/* Idempotent; an all-zero load is allowed. */
void blis_load_deinit(blis_load *load);

#endif
