/*
 * order.h - measures how far arrival times are out of order, and sorts them in a window; for trace
 * files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_ORDER_H
#define BLIS_WORKLOAD_TRACE_READ_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/request.h"

/* Maximum number of rows by which a row may be out of order. */
enum { BLIS__TRACE_WINDOW_MAX = 65536 };

/* Examines times in file order. A ring stores the highest time so far for each of the last rows. */
typedef struct blis__trace_lag {
  int64_t *highest; /* NULL while all times are in order */
  int64_t count;
  int64_t last_us;
  size_t window;      /* maximum number of rows by which a row is too late */
  bool is_beyond;     /* a row is too late by more than BLIS__TRACE_WINDOW_MAX */
  int64_t beyond_row; /* first such row, from 1 */
} blis__trace_lag;

/* Adds the time of a row. The struct must be zeroed initially. */
BLIS_MUSTUSE blis_status blis__trace_lag_add(const blis_alloc *alloc, blis__trace_lag *lag,
                                             int64_t time_us);
void blis__trace_lag_deinit(const blis_alloc *alloc, blis__trace_lag *lag);

/* Holds rows until no earlier row can follow. */
typedef struct blis__trace_window blis__trace_window;

/*
 * Creates a window for rows that are at most size >= 1 rows too late. Copies *alloc. NULL = out of
 * memory.
 */
blis__trace_window *blis__trace_window_new(const blis_alloc *alloc, size_t size);
void blis__trace_window_free(blis__trace_window *window);

/* Returns whether a row must be taken before the next one is added. */
bool blis__trace_window_is_full(const blis__trace_window *window);
bool blis__trace_window_is_empty(const blis__trace_window *window);

/* Adds a copy of a row and its segments. The window must not be full. */
BLIS_MUSTUSE blis_status blis__trace_window_put(blis__trace_window *window,
                                                const blis_request *row);

/*
 * Takes the earliest row; among equal times, the row that was added first. The window must not be
 * empty. The row's segments are valid until the next row is taken or added.
 */
void blis__trace_window_take(blis__trace_window *window, blis_request *row);

#endif
