/*
 * sketch.h - quantiles of a stream of microseconds in bounded memory.
 *
 * A log-linear histogram (like HdrHistogram). Below 512 us every value has a counter; above, every
 * range between two powers of two is split into 256 equal parts. A quantile is therefore at most
 * 1/256 (0.4%) too low and never too high. Count, sum, mean, least, and greatest value are exact.
 * Memory is at most 115 KB for any number of values; parts are allocated on first use. Adding is
 * O(1). Merging the sketches of two parts of a stream results in the sketch of the whole stream.
 */
#ifndef BLIS_BASE_CONTAINERS_SKETCH_H
#define BLIS_BASE_CONTAINERS_SKETCH_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

enum { BLIS__SKETCH_PARTS = 56 };

/* The members are private. */
typedef struct blis_sketch {
  blis_alloc alloc;
  uint64_t *parts[BLIS__SKETCH_PARTS];
  uint64_t total;
  double sum; /* exact up to 2^53 */
  int64_t min;
  int64_t max;
} blis_sketch;

/* Copies *alloc; allocates nothing yet. */
void blis_sketch_init(blis_sketch *sketch, const blis_alloc *alloc);

void blis_sketch_deinit(blis_sketch *sketch);

/* value >= 0. BLIS_ERR_NOMEM leaves the sketch unchanged. */
BLIS_MUSTUSE blis_status blis_sketch_add(blis_sketch *sketch, int64_t value);

/* Returns the number of values. */
uint64_t blis_sketch_total(const blis_sketch *sketch);

/* These return 0 without values. */
double blis_sketch_mean(const blis_sketch *sketch);
int64_t blis_sketch_min(const blis_sketch *sketch);
int64_t blis_sketch_max(const blis_sketch *sketch);

/*
 * Returns the value at a rank of the ascending list of all values, counted from 0; rank < total.
 * The value is the lower end of its bucket.
 */
int64_t blis_sketch_at_rank(const blis_sketch *sketch, uint64_t rank);

#endif
