/*
 * tools.h - derives workloads from other workloads: a part, a copy at a different rate, or a merge
 * of several.
 *
 * The result is a new, sealed workload, which the caller owns. Requests keep their numbers and
 * strings unless stated otherwise. A deadline moves with its arrival; think times are unchanged.
 * Errors are BLIS_ERR_NOMEM and BLIS_ERR_INVALID for invalid options. Every tool takes time and
 * memory in proportion to the number of requests.
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

/* Applies an edit to all requests. */
BLIS_MUSTUSE blis_status blis_trace_apply(const blis_alloc *alloc, const blis_workload *workload,
                                          const blis_trace_edit *edit, blis_workload **edited,
                                          blis_error *error);

/*
 * Keeps at most max_turns >= 1 requests of each session: the first by round_index, then by arrival.
 * Requests without a session are kept.
 */
BLIS_MUSTUSE blis_status blis_trace_cap(const blis_alloc *alloc, const blis_workload *workload,
                                        int64_t max_turns, blis_workload **capped,
                                        blis_error *error);

/*
 * Merges all requests of count workloads in order of arrival. Requests with equal arrivals are in
 * the order of the workloads. Requests get new numbers, 0, 1, 2, ...
 *
 * same_content means that equal streams, sessions, and prefix groups of the
 * workloads are identical, as in parts of one trace, or in traces with the same
 * hash ids. Otherwise different workloads share nothing, and a session or group
 * whose name an earlier workload uses is renamed to "name#2", "name#3", and so on.
 * Labels such as tenants and models are always shared. Costs one comparison per
 * workload and request.
 */
BLIS_MUSTUSE blis_status blis_trace_merge(const blis_alloc *alloc,
                                          const blis_workload *const *workloads, size_t count,
                                          bool same_content, blis_workload **merged,
                                          blis_error *error);

#endif
