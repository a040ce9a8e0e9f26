/*
 * recent_values.h - the last few values of a metric, sorted, for medians and percentiles.
 */
#ifndef BLIS_POLICY_MEMORY_RECENT_VALUES_H
#define BLIS_POLICY_MEMORY_RECENT_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum { BLIS__RECENT_VALUES_MAX = 200 };

/* A zeroed struct is empty. */
typedef struct blis__recent_values {
  double in_order[BLIS__RECENT_VALUES_MAX]; /* in order of arrival, as a ring */
  double by_size[BLIS__RECENT_VALUES_MAX];
  uint32_t count;
  uint32_t next; /* next index in the ring */
} blis__recent_values;

/*
 * Adds a value, which must not be NaN. If there are more than limit values, removes the oldest.
 * limit must be the same in every call and at most BLIS__RECENT_VALUES_MAX. O(limit).
 */
void blis__recent_values_add(blis__recent_values *values, uint32_t limit, double value);

/* Returns the median: the middle value, or the mean of the two middle values. Requires count >
   0. */
double blis__recent_values_median(const blis__recent_values *values);

/* Returns the value with index round(share * (count - 1)); index 0 is the smallest. Requires
   count > 0. */
double blis__recent_values_at(const blis__recent_values *values, double share);

#endif
