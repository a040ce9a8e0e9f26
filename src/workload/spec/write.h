/*
 * write.h - writes workload specifications as YAML, in the form of BLIS (Go, inference-sim
 * f90a1e3a): its order of keys, an indentation of four spaces, and the shortest form of numbers.
 * written_spec.h reads this form.
 */
#ifndef BLIS_WORKLOAD_SPEC_WRITE_H
#define BLIS_WORKLOAD_SPEC_WRITE_H

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "workload/spec/workload_spec.h"

/*
 * Appends a specification. Requests that an expansion has spread over an interval (spread_count)
 * become poisson requests. Fixed rates (fixed_rate) become rates of windows. Failures are recorded
 * in the buffer.
 */
void blis_workload_spec_write(const blis_workload_spec *spec, blis_buffer *text);

#endif
