/*
 * trace_format.h - what a reader of one trace format is; for trace files only.
 *
 * A new format is one file that defines a blis__trace_format, and its line in
 * the table of trace.c.
 */
#ifndef BLIS_WORKLOAD_TRACE_FORMAT_H
#define BLIS_WORKLOAD_TRACE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"
#include "workload/trace.h"
#include "workload/workload.h"

/* One trace while it is read. */
typedef struct blis__trace_job {
  const blis_alloc *alloc;
  const char *path;
  const blis_trace_options *options;
  int64_t limit;           /* rows to read at most */
  blis_workload *workload; /* where they go */
} blis__trace_job;

typedef struct blis__trace_format {
  const char *name;
  const char *text;
  /* Whether a file that starts with head (some KB, unpacked) is of the format.
   */
  bool (*recognise)(blis_slice head);
  /* Adds all requests to the workload and describes it. */
  blis_status (*read)(const blis__trace_job *job, blis_error *error);
} blis__trace_format;

extern const blis__trace_format blis__trace_azure;
extern const blis__trace_format blis__trace_bailian;
extern const blis__trace_format blis__trace_burstgpt;
extern const blis__trace_format blis__trace_llmservingsim;
extern const blis__trace_format blis__trace_mooncake;
extern const blis__trace_format blis__trace_routesim;
extern const blis__trace_format blis__trace_splitwise;
extern const blis__trace_format blis__trace_v2;
extern const blis__trace_format blis__trace_vidur;
extern const blis__trace_format blis__trace_vllm;

/* Whether a path is that of a tracev2 trace but for ".csv". BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__trace_v2_find_stem(const blis_alloc *alloc,
                                                  const char *path,
                                                  bool *is_stem,
                                                  blis_error *error);

/* Whether head has the text somewhere in its first line. */
bool blis__trace_first_line_has(blis_slice head, const char *text);

/* The name of a file without its folders. */
const char *blis__trace_file_name(const char *path);

#endif
