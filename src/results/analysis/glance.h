/*
 * glance.h - the latencies of a run in progress, for a display.
 *
 * A snapshot samples the requests that have ended since the previous snapshot. The sample has a
 * fixed maximum size and is spread evenly over the order of completion, so its cost does not depend
 * on the number of requests. Requests outside the sample are never read again. Sampling does not
 * change the run.
 */
#ifndef BLIS_RESULTS_ANALYSIS_GLANCE_H
#define BLIS_RESULTS_ANALYSIS_GLANCE_H

#include "base/containers/sketch.h"
#include "results/record/recorder.h"

/* Maximum number of requests per snapshot, which takes 0.1 ms. */
enum { BLIS_GLANCE_SAMPLE = 2048 };

/* The members are private. */
typedef struct blis_glance {
  blis_sketch ttft_us;
  blis_sketch e2e_us;
  blis_sketch itl_us;
  size_t seen; /* number of records that were sampled or skipped */
} blis_glance;

/* Latencies of completed requests, except TTFT; inter-token latencies are means per request.
   NULL = unknown. Borrowed until the next sample. */
typedef struct blis_glance_times {
  const blis_sketch *ttft_us;
  const blis_sketch *e2e_us;
  const blis_sketch *itl_us;
} blis_glance_times;

/* Copies *alloc; allocates nothing yet. */
void blis_glance_init(blis_glance *glance, const blis_alloc *alloc);
void blis_glance_deinit(blis_glance *glance);

/*
 * Takes a snapshot. Every call must use the same recorder, whose records must not be sorted in
 * between. If the recorder keeps no records, times come from its sketches over all requests,
 * without inter-token latencies. BLIS_ERR_NOMEM means that some requests were skipped.
 */
BLIS_MUSTUSE blis_status blis_glance_look(blis_glance *glance, const blis_recorder *recorder,
                                          blis_glance_times *times);

#endif
