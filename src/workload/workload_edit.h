/*
 * workload_edit.h - edits a list of requests while it is being built; for trace files only.
 */
#ifndef BLIS_WORKLOAD_WORKLOAD_EDIT_H
#define BLIS_WORKLOAD_WORKLOAD_EDIT_H

#include "workload/workload.h"

/* May change the request and its segments, which are stored at segments. The number of segments
   can decrease, but not increase. */
typedef void blis__workload_edit_fn(const void *state, blis_request *request,
                                    blis_segment *segments);

/*
 * Calls fn for every request in order of addition. The workload must not be sealed yet, and nothing
 * can be added afterwards.
 */
void blis__workload_edit(blis_workload *workload, blis__workload_edit_fn *fn, const void *state);

/* Numbers the requests of each session in order of arrival, from 0; requests without a session
   do not change. The workload must be sealed and have no readers yet. BLIS_ERR_NOMEM changes
   nothing. */
BLIS_MUSTUSE blis_status blis__workload_number_rounds(blis_workload *workload);

#endif
