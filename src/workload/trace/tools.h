/*
 * tools.h - workloads made from others: a part of one, one at another
 * pace, several in one.
 *
 * The result is new and sealed and belongs to the caller; requests keep their
 * numbers and texts unless it is said otherwise. A deadline moves with its
 * arrival; think times stay as they are. Errors are BLIS_ERR_NOMEM and
 * BLIS_ERR_INVALID for options that cannot be. Every tool takes time and memory
 * in proportion to the requests.
 */
#ifndef BLIS_WORKLOAD_TRACE_TOOLS_H
#define BLIS_WORKLOAD_TRACE_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/workload.h"

/* How many words hold a bit for each of count requests; not 0. */
static inline size_t blis_trace_mark_words(size_t count) {
  return count / 64 + 1;
}

static inline void blis_trace_mark(uint64_t *marks, size_t index) {
  marks[index / 64] |= UINT64_C(1) << index % 64;
}

/* Whether a request of the workload, in order of arrival, is kept. */
typedef bool blis_trace_test(void *state, const blis_workload *workload,
                             size_t index);

BLIS_MUSTUSE blis_status blis_trace_filter(const blis_alloc *alloc,
                                           const blis_workload *workload,
                                           blis_trace_test *test, void *state,
                                           blis_workload **filtered,
                                           blis_error *error);

/* What is cut out: of the requests that arrive in a window, a stretch. */
typedef struct blis_trace_cut_options {
  int64_t start_us; /* arrivals from here on ... */
  int64_t end_us;   /* ... and before this; 0 = no end */
  int64_t skip;     /* of these, leave out so many ... */
  int64_t limit;    /* ... and keep at most so many; 0 = all */
  bool from_zero;   /* the first one that is kept arrives at 0 */
} blis_trace_cut_options;

BLIS_MUSTUSE blis_status blis_trace_cut(const blis_alloc *alloc,
                                        const blis_workload *workload,
                                        const blis_trace_cut_options *options,
                                        blis_workload **part,
                                        blis_error *error);

/*
 * The same at another rate: arrival times are divided by factor, so that 2
 * sends twice as many requests per second. factor is finite and > 0.
 */
BLIS_MUSTUSE blis_status blis_trace_scale(const blis_alloc *alloc,
                                          const blis_workload *workload,
                                          double factor, blis_workload **scaled,
                                          blis_error *error);

/* What arrives at from_us shall arrive at to_us. */
typedef struct blis_trace_warp_point {
  int64_t from_us;
  int64_t to_us;
} blis_trace_warp_point;

/*
 * The same in a time that runs now faster, now slower: straight lines between
 * the points, and shifted as the nearest point before the first and behind the
 * last. There is at least one point; from_us rises and to_us never falls.
 */
BLIS_MUSTUSE blis_status blis_trace_warp(const blis_alloc *alloc,
                                         const blis_workload *workload,
                                         const blis_trace_warp_point *points,
                                         size_t count, blis_workload **warped,
                                         blis_error *error);

/*
 * At most max_turns >= 1 requests of each session, the first by round_index,
 * then by arrival. Requests without a session are kept.
 */
BLIS_MUSTUSE blis_status blis_trace_cap(const blis_alloc *alloc,
                                        const blis_workload *workload,
                                        int64_t max_turns,
                                        blis_workload **capped,
                                        blis_error *error);

/*
 * All requests of count workloads in order of arrival; those that arrive
 * together in the order of the workloads. Numbers are given anew, 0, 1, 2, ...
 *
 * same_content tells that equal streams, sessions and prefix groups of the
 * workloads are the same, as in parts that were cut from one, or in traces with
 * the same hash ids. Otherwise those of
 * different workloads have nothing in common, and a session or group whose name
 * another workload has before it is called "name#2", "name#3" and so on.
 * Labels such as tenants and models are the same anyway. Costs a look at every
 * workload per request.
 */
BLIS_MUSTUSE blis_status blis_trace_merge(const blis_alloc *alloc,
                                          const blis_workload *const *workloads,
                                          size_t count, bool same_content,
                                          blis_workload **merged,
                                          blis_error *error);

#endif
