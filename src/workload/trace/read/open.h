/*
 * open.h - opens a trace file of any format with the reader of its rows; for
 * trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_OPEN_H
#define BLIS_WORKLOAD_TRACE_READ_OPEN_H

#include "workload/trace/rows/format.h"

/* Must not move while it is open: the reader borrows the job. */
typedef struct blis__trace_file {
  const blis__trace_format *format;
  blis__trace_job job;
  void *reader;
} blis__trace_file;

/*
 * Checks the options, detects the format unless it is named, and opens a reader.
 * Strings and notes are added to the workload. Everything is borrowed until
 * blis__trace_close, which must be called even after a failure.
 */
BLIS_MUSTUSE blis_status blis__trace_open(const blis_alloc *alloc, const char *path,
                                          const blis_trace_options *options,
                                          blis_workload *workload, blis__trace_file *file,
                                          blis_error *error);

/* A second reader, of a file whose first one has finished and stays open. */
BLIS_MUSTUSE blis_status blis__trace_open_again(const blis__trace_file *known,
                                                const blis_alloc *alloc, blis__trace_file *file,
                                                blis_error *error);

/* After the last row: closes the file and makes settle possible. */
BLIS_MUSTUSE blis_status blis__trace_finish(const blis__trace_file *file, blis_error *error);

/* Fails because there is no row. */
blis_status blis__trace_fail_empty(const blis__trace_file *file, blis_error *error);

/* Idempotent. */
void blis__trace_close(blis__trace_file *file);

#endif
