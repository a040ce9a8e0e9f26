/*
 * survey.h - the results of a first pass over a trace file; for trace files
 * only.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_SURVEY_H
#define BLIS_WORKLOAD_TRACE_READ_SURVEY_H

#include "workload/trace/read/open.h"

/* Shared by all streams of the file. */
typedef struct blis__survey {
  blis_alloc alloc;
  size_t users;
  char *texts; /* copies of path, format, and header path */
  size_t texts_size;
  blis_trace_options options;
  blis_workload *about;
  blis__trace_file file; /* file whose reader has finished */
  int64_t count;
  int64_t last_us; /* last arrival */
  size_t window;   /* maximum number of rows by which a row is out of order */
  bool numbers_rounds;
} blis__survey;

/*
 * Reads a file; the caller owns the first reference. If the file is too far out of order, sets
 * *is_ordered to false and *survey to NULL; if is_ordered is NULL, this is an error.
 */
BLIS_MUSTUSE blis_status blis__survey_new(const blis_alloc *alloc, const char *path,
                                          const blis_trace_options *options, bool *is_ordered,
                                          blis__survey **survey, blis_error *error);

/* Releases a reference; the last release frees the survey. */
void blis__survey_unref(blis__survey *survey);

#endif
