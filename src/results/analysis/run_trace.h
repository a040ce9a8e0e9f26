/*
 * run_trace.h - writes the requests of a run, with their outcomes, as a trace.
 */
#ifndef BLIS_RESULTS_ANALYSIS_RUN_TRACE_H
#define BLIS_RESULTS_ANALYSIS_RUN_TRACE_H

#include "base/alloc.h"
#include "base/error.h"
#include "results/record/recorder.h"
#include "workload/trace/write/write.h"
#include "workload/workload.h"

/*
 * Writes the requests of a workload that have a record. Sorts the recorder. Sets options->outcomes
 * from the records, and renumbers the requests. The outcome is "ok" for completed requests,
 * "timeout" for late ones, and "incomplete" for all others.
 */
BLIS_MUSTUSE blis_status blis_run_trace_write(const blis_alloc *alloc, const char *path,
                                              const blis_workload *requests,
                                              const blis_recorder *recorder,
                                              const blis_trace_write_options *options,
                                              blis_error *error);

#endif
