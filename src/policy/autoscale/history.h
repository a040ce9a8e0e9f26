/*
 * history.h - numbers at times, as far back as a window reaches: what an
 * autoscaler remembers of its looks.
 *
 * Times never go back. What is too old goes once it is the larger part, so that
 * adding costs O(1) on average; readers begin at the end and stop at the first
 * that is too old for them.
 */
#ifndef BLIS_POLICY_AUTOSCALE_HISTORY_H
#define BLIS_POLICY_AUTOSCALE_HISTORY_H

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

typedef struct blis_scale_point {
  int64_t time_us;
  double value;
} blis_scale_point;

/* Begins with {0}; ends with blis_array_deinit. */
typedef BLIS_ARRAY(blis_scale_point) blis_scale_history;

/* When a window of so many seconds begins that ends now; this is outside. */
int64_t blis_scale_window_start_us(int64_t now_us, double window_s);

/* Nobody reads farther back than window_s. */
BLIS_MUSTUSE blis_status blis_scale_history_add(blis_scale_history *history,
                                                const blis_alloc *alloc, int64_t now_us,
                                                double window_s, double value);

#endif
