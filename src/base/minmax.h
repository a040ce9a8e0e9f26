/* minmax.h - the smaller and the larger of two integers. */
#ifndef BLIS_BASE_MINMAX_H
#define BLIS_BASE_MINMAX_H

#include <stdint.h>

static inline int64_t blis_min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t blis_max_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

#endif
