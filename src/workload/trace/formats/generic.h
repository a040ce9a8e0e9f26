/*
 * generic.h - traces that are any table of requests: CSV with a header row, and JSON lines; for
 * trace files only. columns.h describes how columns get their meaning.
 */
#ifndef BLIS_WORKLOAD_TRACE_FORMATS_GENERIC_H
#define BLIS_WORKLOAD_TRACE_FORMATS_GENERIC_H

#include "workload/trace/rows/format.h"

extern const blis__trace_format blis__trace_csv;
extern const blis__trace_format blis__trace_jsonl;

/*
 * Finds the format of a file that starts with head; BLIS_ERR_PARSE or BLIS_ERR_INVALID explains why
 * it has neither format.
 */
BLIS_MUSTUSE blis_status blis__trace_find_generic(const blis__trace_job *job, blis_slice head,
                                                  const blis__trace_format **format,
                                                  blis_error *error);

#endif
