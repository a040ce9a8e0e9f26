/*
 * instance_times.h - a run by instance: the outcomes and times of its requests.
 *
 * Populations are those of summary.h; an instance that completed nothing has
 * zeros for percentiles.
 */
#ifndef BLIS_RESULTS_INSTANCE_TIMES_H
#define BLIS_RESULTS_INSTANCE_TIMES_H

#include "results/recorder.h"

typedef struct blis_instance_times {
  blis_state_counts counts; /* of the requests that were routed here */
  blis_times times;
} blis_instance_times;

/*
 * Fills times[count]; itl_us[count] are the inter-token latencies of each
 * instance. O(records log records). BLIS_ERR_NOMEM leaves nothing behind.
 */
BLIS_MUSTUSE blis_status blis_instance_times_fill(blis_instance_times *times, uint32_t count,
                                                  const blis_alloc *alloc,
                                                  const blis_recorder *recorder,
                                                  blis_histogram *itl_us);

#endif
