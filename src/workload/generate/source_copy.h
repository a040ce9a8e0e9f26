/*
 * source_copy.h - a source that forwards another source and stores a copy of every request, so that
 * generated requests can be written as a trace.
 */
#ifndef BLIS_WORKLOAD_GENERATE_SOURCE_COPY_H
#define BLIS_WORKLOAD_GENERATE_SOURCE_COPY_H

#include "base/alloc.h"
#include "base/error.h"
#include "workload/request.h"
#include "workload/workload.h"

typedef struct blis_source_copy blis_source_copy;

/* Copies *alloc and *original. NULL = out of memory. */
blis_source_copy *blis_source_copy_new(const blis_alloc *alloc,
                                       const blis_request_source *original);

/* NULL is allowed. */
void blis_source_copy_free(blis_source_copy *copy);

/* Returns a source that replaces the original; it borrows the copy. */
blis_request_source blis_source_copy_source(blis_source_copy *copy);

/*
 * Copies all requests so far into a new, sealed workload, which the caller owns. If requests can be
 * moved forward in time, only arrived requests are included. As in the run, follow-ups come after
 * other requests with the same arrival time. Returns BLIS_ERR_NOMEM on failure.
 */
BLIS_MUSTUSE blis_status blis_source_copy_get(const blis_source_copy *copy, const blis_alloc *alloc,
                                              blis_workload **workload, blis_error *error);

#endif
