/*
 * generic.h - arbitrary tables of requests as traces: CSV with a header row, and JSON lines; for
 * trace files only. columns.h assigns meanings to the columns.
 */
#ifndef BLIS_WORKLOAD_TRACE_FORMATS_GENERIC_H
#define BLIS_WORKLOAD_TRACE_FORMATS_GENERIC_H

#include "workload/trace/rows/format.h"

extern const blis__trace_format blis__trace_csv;
extern const blis__trace_format blis__trace_jsonl;

/*
 * Finds the format of a file that starts with head. The message of BLIS_ERR_PARSE or
 * BLIS_ERR_INVALID explains why the file has neither format.
 */
BLIS_MUSTUSE blis_status blis__trace_find_generic(const blis__trace_job *job, blis_slice head,
                                                  const blis__trace_format **format,
                                                  blis_error *error);

#endif
