/*
 * v2_header.h - the YAML header of a tracev2 trace; for trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_FORMATS_V2_HEADER_H
#define BLIS_WORKLOAD_TRACE_FORMATS_V2_HEADER_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/workload.h"

/* The parts of the header that affect the requests. */
typedef struct blis__trace_v2_header {
  bool is_observed; /* mode real: send times are in us since 1970 */
} blis__trace_v2_header;

/*
 * Reads and checks the header in a file: its keys, their types, and the relevant values. Unexpected
 * but harmless content is reported as notes of the workload.
 */
BLIS_MUSTUSE blis_status blis__trace_v2_read_header(const blis_alloc *alloc, const char *path,
                                                    blis_workload *workload,
                                                    blis__trace_v2_header *header,
                                                    blis_error *error);

#endif
