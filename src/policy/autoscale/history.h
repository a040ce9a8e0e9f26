/*
 * history.h - an autoscaler's samples: values with timestamps, within a window.
 *
 * Times never decrease. Expired samples are removed once they are the majority, so adding a sample
 * costs O(1) amortized. Readers start at the end and stop at the first sample outside of their
 * window.
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

/* Initialize with {0}; free with blis_array_deinit. */
typedef BLIS_ARRAY(blis_scale_point) blis_scale_history;

/* Returns the start of a window of window_s seconds that ends now; the start is excluded. */
int64_t blis_scale_window_start_us(int64_t now_us, double window_s);

/* Adds a sample. No reader may use a window longer than window_s. */
BLIS_MUSTUSE blis_status blis_scale_history_add(blis_scale_history *history,
                                                const blis_alloc *alloc, int64_t now_us,
                                                double window_s, double value);

#endif
