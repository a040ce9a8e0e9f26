/*
 * edit.h - what a tool does to requests one after the other; for trace
 * files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_EDIT_H
#define BLIS_WORKLOAD_TRACE_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "workload/request.h"
#include "workload/trace/tools.h"

typedef enum blis__trace_edit_kind {
  BLIS__TRACE_CUT,
  BLIS__TRACE_SCALE,
  BLIS__TRACE_WARP,
  BLIS__TRACE_MARKS
} blis__trace_edit_kind;

/* None of them changes the order of the requests. */
typedef struct blis__trace_edit {
  blis__trace_edit_kind kind;
  const char *what; /* for descriptions; static */
  blis_trace_cut_options cut;
  double factor;
  const blis_trace_warp_point *points; /* borrowed */
  size_t point_count;
  const uint64_t *marks; /* borrowed; a bit for every request: keep it */
} blis__trace_edit;

/* Checked edits: BLIS_ERR_INVALID for options that cannot be. */
BLIS_MUSTUSE blis_status
blis__trace_edit_cut(const blis_trace_cut_options *options,
                     blis__trace_edit *edit, blis_error *error);
BLIS_MUSTUSE blis_status blis__trace_edit_scale(double factor,
                                                blis__trace_edit *edit,
                                                blis_error *error);
BLIS_MUSTUSE blis_status
blis__trace_edit_warp(const blis_trace_warp_point *points, size_t count,
                      blis__trace_edit *edit, blis_error *error);
blis__trace_edit blis__trace_edit_marks(const uint64_t *marks,
                                        const char *what);

/* One edit on its way through the requests; zero it but for edit. */
typedef struct blis__trace_editing {
  const blis__trace_edit *edit;
  size_t index;      /* of the next request */
  int64_t seen;      /* requests in the window of a cut */
  int64_t kept;      /* of these */
  int64_t start_us;  /* arrival of the first that was kept */
  size_t next_point; /* the first one that is not before the last arrival */
} blis__trace_editing;

/* Changes the next request, or sets *keep to false to leave it out. */
BLIS_MUSTUSE blis_status blis__trace_edit_next(blis__trace_editing *editing,
                                               blis_request *request,
                                               bool *keep, blis_error *error);

#endif
