/*
 * window.h - a part of a run: all but its warm-up, or one phase of it.
 *
 * Times are of the requests that arrived in the window, wherever they ended;
 * throughput is of those that were completed in it.
 */
#ifndef BLIS_RESULTS_WINDOW_H
#define BLIS_RESULTS_WINDOW_H

#include "results/groups.h"

typedef struct blis_window {
  blis_group group;      /* of the requests that arrived in it; without a name */
  int64_t completed;     /* in it, whenever they arrived */
  int64_t output_tokens; /* of these */
  BLIS_WINDOW_FIGURES(BLIS_FIGURE_MEMBER)
} blis_window;

/* From from_us on and before to_us > from_us. BLIS_ERR_NOMEM keeps nothing. */
BLIS_MUSTUSE blis_status blis_window_fill(blis_window *window, const blis_alloc *alloc,
                                          const blis_recorder *recorder, int64_t from_us,
                                          int64_t to_us);

/*
 * The requests that were completed behind the first count completed ones; its
 * times are the first arrival of these, and the end of the last. Nothing, from
 * 0 to 1, where there are no more. BLIS_ERR_NOMEM keeps nothing.
 *
 * Source: RouteSim's design document, "Warmup" and "Aggregation".
 */
BLIS_MUSTUSE blis_status blis_window_after_completed(blis_window *window, const blis_alloc *alloc,
                                                     const blis_recorder *recorder, size_t count);

/*
 * The requests that arrived from from_us on and not after to_us, and were
 * completed, whenever that was; times as above, so throughput is over the
 * interval from the first arrival to the last end.
 *
 * Source: the AgentX profile of AISimulate, its throughput interval.
 */
BLIS_MUSTUSE blis_status blis_window_of_cohort(blis_window *window, const blis_alloc *alloc,
                                               const blis_recorder *recorder, int64_t from_us,
                                               int64_t to_us);

#endif
