/*
 * edit.h - edits that apply to the requests of a trace one by one, in a list or a
 * stream: selecting a part, changing the pace.
 *
 * Requests keep their numbers, strings, and order. A deadline moves with its
 * arrival; think times stay as they are.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_EDIT_H
#define BLIS_WORKLOAD_TRACE_READ_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "workload/request.h"

/* The part to cut out: of the requests that arrive in a window, a stretch. */
typedef struct blis_trace_cut_options {
  int64_t start_us; /* earliest arrival ... */
  int64_t end_us;   /* ... and before this; 0 = no end */
  int64_t skip;     /* number of these to skip ... */
  int64_t limit;    /* ... and maximum number to keep; 0 = all */
  bool from_zero;   /* the first kept request arrives at 0 */
} blis_trace_cut_options;

/* What arrives at from_us shall arrive at to_us. */
typedef struct blis_trace_warp_point {
  int64_t from_us;
  int64_t to_us;
} blis_trace_warp_point;

typedef enum blis_trace_edit_kind {
  BLIS_TRACE_CUT,
  /*
   * Another rate: arrival times are divided by factor, so that 2 sends twice as
   * many requests per second. factor is finite and > 0.
   */
  BLIS_TRACE_SCALE,
  /*
   * A time with varying speed: straight lines between the points. Before the first
   * and after the last point, it is shifted like the nearest point. There is at
   * least one point; from_us rises and to_us never falls.
   */
  BLIS_TRACE_WARP,
  /* Requests with a mark are kept: by their properties, or by their turn. */
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
  const uint64_t *marks; /* a bit for every request: keep it */
} blis_trace_edit;

/* Number of words with a bit for each of count requests; not 0. */
static inline size_t blis_trace_mark_words(size_t count) {
  return count / 64 + 1;
}

static inline void blis_trace_mark(uint64_t *marks, size_t index) {
  marks[index / 64] |= UINT64_C(1) << index % 64;
}

/* What requests are after an edit: "scaled". Static. */
const char *blis__trace_edit_name(const blis_trace_edit *edit);

/* BLIS_ERR_INVALID for an edit that cannot be. */
BLIS_MUSTUSE blis_status blis__trace_edit_check(const blis_trace_edit *edit, blis_error *error);

/* State of one edit during its pass through the requests; zero all members except edit. */
typedef struct blis__trace_editing {
  const blis_trace_edit *edit;
  size_t index;      /* of the next request */
  int64_t seen;      /* requests in the window of a cut */
  int64_t kept;      /* of these */
  int64_t start_us;  /* arrival of the first that was kept */
  size_t next_point; /* the first point that is not before the last arrival */
} blis__trace_editing;

/* Changes the next request, or sets *keep to false to leave it out. */
BLIS_MUSTUSE blis_status blis__trace_edit_next(blis__trace_editing *editing, blis_request *request,
                                               bool *keep, blis_error *error);

#endif
