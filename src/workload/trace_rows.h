/*
 * trace_rows.h - what readers of traces share: texts, and rows that can only be
 * added when all are known; for trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_H
#define BLIS_WORKLOAD_TRACE_ROWS_H

#include "base/array.h"
#include "workload/trace_format.h"

/* The number of a text among the workload's; 0 when it is empty. */
BLIS_MUSTUSE blis_status blis__trace_text(const blis__trace_job *job,
                                          blis_slice text, uint32_t *id,
                                          blis_error *error);

/* Segments are not set, only counted: see blis__trace_add_rows. */
typedef BLIS_ARRAY(blis_request) blis__trace_rows;

/* Makes the earliest arrival 0. */
void blis__trace_start_at_zero(blis__trace_rows *rows);

/*
 * Numbers the rows of each session in order of arrival, equal arrivals in the
 * order of the file; rows without a session stay as they are.
 */
BLIS_MUSTUSE blis_status blis__trace_number_rounds(const blis_alloc *alloc,
                                                   blis__trace_rows *rows,
                                                   blis_error *error);

/*
 * Adds all rows to the workload of the job. segments are those of all rows, one
 * row after the other; NULL when no row has any.
 */
BLIS_MUSTUSE blis_status blis__trace_add_rows(const blis__trace_job *job,
                                              const blis__trace_rows *rows,
                                              const blis_segment *segments,
                                              blis_error *error);

/* Notes how many rows were left out because they failed, unless it is none. */
BLIS_MUSTUSE blis_status blis__trace_note_failed(const blis__trace_job *job,
                                                 int64_t failed,
                                                 blis_error *error);

#endif
