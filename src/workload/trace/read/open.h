/*
 * open.h - opens a trace file of any format, with the reader for its rows; for trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_OPEN_H
#define BLIS_WORKLOAD_TRACE_READ_OPEN_H

#include "workload/trace/rows/format.h"

/* Must not move while open, because the reader borrows the job. */
typedef struct blis__trace_file {
  const blis__trace_format *format;
  blis__trace_job job;
  void *reader;
} blis__trace_file;

/*
 * Checks the options, detects the format unless it is specified, and opens a reader. Strings and
 * notes are added to the workload. Everything is borrowed until blis__trace_close, which must be
 * called even after a failure.
 */
BLIS_MUSTUSE blis_status blis__trace_open(const blis_alloc *alloc, const char *path,
                                          const blis_trace_options *options,
                                          blis_workload *workload, blis__trace_file *file,
                                          blis_error *error);

/* Opens a second reader for a file whose first reader has finished and remains open. */
BLIS_MUSTUSE blis_status blis__trace_open_again(const blis__trace_file *known,
                                                const blis_alloc *alloc, blis__trace_file *file,
                                                blis_error *error);

/* Closes the file after the last row and makes settle available. */
BLIS_MUSTUSE blis_status blis__trace_finish(const blis__trace_file *file, blis_error *error);

/* Fails because there are no rows. */
blis_status blis__trace_fail_empty(const blis__trace_file *file, blis_error *error);

/* Idempotent. */
void blis__trace_close(blis__trace_file *file);

#endif
