/*
 * recent_values.h - the last few values of a metric, sorted: for medians and
 * percentiles.
 */
#ifndef BLIS_POLICY_MEMORY_RECENT_VALUES_H
#define BLIS_POLICY_MEMORY_RECENT_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum { BLIS__RECENT_VALUES_MAX = 200 };

/* All zero is an empty one. */
typedef struct blis__recent_values {
  double in_order[BLIS__RECENT_VALUES_MAX]; /* of arrival, a ring */
  double by_size[BLIS__RECENT_VALUES_MAX];
  uint32_t count;
  uint32_t next; /* place in the ring */
} blis__recent_values;

/*
 * Adds a value (no NaN); beyond limit (the same in every call, at most
 * BLIS__RECENT_VALUES_MAX) the oldest goes. O(limit).
 */
void blis__recent_values_add(blis__recent_values *values, uint32_t limit, double value);

/* The middle one, or the mean of the two in the middle; count > 0. */
double blis__recent_values_median(const blis__recent_values *values);

/* The one at round(share (count - 1)), 0 being the smallest; count > 0. */
double blis__recent_values_at(const blis__recent_values *values, double share);

#endif
