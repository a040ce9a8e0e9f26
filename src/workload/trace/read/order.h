/*
 * order.h - the disorder of a file's arrival times, and a window that sorts
 * them; for trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_ORDER_H
#define BLIS_WORKLOAD_TRACE_READ_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/request.h"

/* Maximum number of rows by which a row may be late. */
enum { BLIS__TRACE_WINDOW_MAX = 65536 };

/*
 * Looks at times in the order of the file. The highest time so far is kept for
 * each of the last rows, in a ring.
 */
typedef struct blis__trace_lag {
  int64_t *highest; /* NULL while everything is in order */
  int64_t count;
  int64_t last_us;
  size_t window;      /* by how many rows one came too late, at most */
  bool is_beyond;     /* by more than BLIS__TRACE_WINDOW_MAX */
  int64_t beyond_row; /* the first of these, from 1 */
} blis__trace_lag;

/* Zero it first. */
BLIS_MUSTUSE blis_status blis__trace_lag_add(const blis_alloc *alloc, blis__trace_lag *lag,
                                             int64_t time_us);
void blis__trace_lag_deinit(const blis_alloc *alloc, blis__trace_lag *lag);

/* Rows that wait until none before them can come any more. */
typedef struct blis__trace_window blis__trace_window;

/* Rows come at most size >= 1 rows too late. Copies *alloc. NULL = no memory.
 */
blis__trace_window *blis__trace_window_new(const blis_alloc *alloc, size_t size);
void blis__trace_window_free(blis__trace_window *window);

/* Whether a row must be taken before the next one is put in. */
bool blis__trace_window_is_full(const blis__trace_window *window);
bool blis__trace_window_is_empty(const blis__trace_window *window);

/* Copies a row and its segments; it is not full. */
BLIS_MUSTUSE blis_status blis__trace_window_put(blis__trace_window *window,
                                                const blis_request *row);

/*
 * Takes the earliest row, of equal ones the first that was put in; there is
 * one. Its segments are valid until the next row is taken or put in.
 */
void blis__trace_window_take(blis__trace_window *window, blis_request *row);

#endif
