/*
 * tools.h - workloads derived from others: a part of one, one at another pace,
 * several merged.
 *
 * The result is new and sealed and belongs to the caller; requests keep their
 * numbers and texts unless it is said otherwise. A deadline moves with its
 * arrival; think times stay as they are. Errors are BLIS_ERR_NOMEM and
 * BLIS_ERR_INVALID for options that cannot be. Every tool takes time and memory
 * in proportion to the requests.
 */
#ifndef BLIS_WORKLOAD_TRACE_TOOLS_TOOLS_H
#define BLIS_WORKLOAD_TRACE_TOOLS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/trace/read/edit.h"
#include "workload/workload.h"

/* The same requests, edited. */
BLIS_MUSTUSE blis_status blis_trace_apply(const blis_alloc *alloc, const blis_workload *workload,
                                          const blis_trace_edit *edit, blis_workload **edited,
                                          blis_error *error);

/*
 * At most max_turns >= 1 requests of each session, the first by round_index,
 * then by arrival. Requests without a session are kept.
 */
BLIS_MUSTUSE blis_status blis_trace_cap(const blis_alloc *alloc, const blis_workload *workload,
                                        int64_t max_turns, blis_workload **capped,
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
                                          const blis_workload *const *workloads, size_t count,
                                          bool same_content, blis_workload **merged,
                                          blis_error *error);

#endif
