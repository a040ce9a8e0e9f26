/*
 * trace_rows.h - what readers of traces share; for trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_H
#define BLIS_WORKLOAD_TRACE_ROWS_H

#include "workload/trace/format.h"

/* The number of a text among the workload's; 0 when it is empty. */
BLIS_MUSTUSE blis_status blis__trace_text(const blis__trace_job *job,
                                          blis_slice text, uint32_t *id,
                                          blis_error *error);

/* Notes how many rows were left out because they failed, unless it is none. */
BLIS_MUSTUSE blis_status blis__trace_note_failed(const blis__trace_job *job,
                                                 int64_t failed,
                                                 blis_error *error);

#endif
