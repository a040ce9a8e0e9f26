/*
 * edit.h - edits that apply to the requests of a trace one at a time, in a list or a stream:
 * selecting a part, or changing the rate.
 *
 * Requests keep their numbers, strings, and order. A deadline moves with its arrival; think times
 * are unchanged.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_EDIT_H
#define BLIS_WORKLOAD_TRACE_READ_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "workload/request.h"

/* The part to keep: a contiguous range of the requests that arrive in a window. */
typedef struct blis_trace_cut_options {
  int64_t start_us; /* start of the window */
  int64_t end_us;   /* end of the window (exclusive); 0 = no end */
  int64_t skip;     /* number of requests in the window to skip */
  int64_t limit;    /* maximum number of requests to keep; 0 = all */
  bool from_zero;   /* the first kept request arrives at 0 */
} blis_trace_cut_options;

/* Maps arrivals at from_us to to_us. */
typedef struct blis_trace_warp_point {
  int64_t from_us;
  int64_t to_us;
} blis_trace_warp_point;

typedef enum blis_trace_edit_kind {
  BLIS_TRACE_CUT,
  /*
   * Changes the rate: arrival times are divided by factor, so a factor of 2 doubles the requests
   * per second. factor must be finite and > 0.
   */
  BLIS_TRACE_SCALE,
  /*
   * Warps time linearly between points. Before the first and after the last point, times are
   * shifted like the nearest point. Requires at least one point, strictly increasing from_us, and
   * nondecreasing to_us.
   */
  BLIS_TRACE_WARP,
  /* Keeps marked requests, selected by their properties or by their turn. */
  BLIS_TRACE_FILTER,
  BLIS_TRACE_CAP
} blis_trace_edit_kind;

/* The kind and its parameters. Points and marks are borrowed. */
typedef struct blis_trace_edit {
  blis_trace_edit_kind kind;
  blis_trace_cut_options cut;
  double factor;
  const blis_trace_warp_point *points;
  size_t point_count;
  const uint64_t *marks; /* one bit per request: keep it */
} blis_trace_edit;

/* Returns the number of words for one bit per request; never 0. */
static inline size_t blis_trace_mark_words(size_t count) {
  return count / 64 + 1;
}

static inline void blis_trace_mark(uint64_t *marks, size_t index) {
  marks[index / 64] |= UINT64_C(1) << index % 64;
}

/* Returns an adjective for edited requests: "scaled". Static. */
const char *blis__trace_edit_name(const blis_trace_edit *edit);

/* Returns BLIS_ERR_INVALID for an invalid edit. */
BLIS_MUSTUSE blis_status blis__trace_edit_check(const blis_trace_edit *edit, blis_error *error);

/* State of one edit during its pass through the requests; zero all members except edit. */
typedef struct blis__trace_editing {
  const blis_trace_edit *edit;
  size_t index;      /* index of the next request */
  int64_t seen;      /* number of requests in the window of a cut */
  int64_t kept;      /* number of kept requests */
  int64_t start_us;  /* arrival of the first kept request */
  size_t next_point; /* the first point that is not before the last arrival */
} blis__trace_editing;

/* Edits the next request, or sets *keep to false to omit it. */
BLIS_MUSTUSE blis_status blis__trace_edit_next(blis__trace_editing *editing, blis_request *request,
                                               bool *keep, blis_error *error);

#endif
