/*
 * write.h - workload specifications as YAML text, in the form of BLIS (Go,
 * inference-sim f90a1e3a): its order of keys, four spaces, the shortest
 * numbers. written_spec.h reads it back.
 */
#ifndef BLIS_WORKLOAD_SPEC_WRITE_H
#define BLIS_WORKLOAD_SPEC_WRITE_H

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "workload/spec/workload_spec.h"

/*
 * Appends a specification. Requests that an expansion has spread over a time
 * (spread_count) become poisson requests. Fixed rates (fixed_rate) become rates of
 * windows. Failures are recorded in the buffer.
 */
void blis_workload_spec_write(const blis_workload_spec *spec, blis_buffer *text);

#endif
