/*
 * histogram.h - exact counts of durations in whole microseconds.
 *
 * Counts of values below 2^20 us (1.05 s) are in arrays, each allocated at its first value. Longer
 * values are in a sorted list with a short unsorted tail. Nothing is rounded, so sums and ranks
 * equal those of the full list of samples, and the order of samples does not matter. Adding is O(1)
 * below 2^20 us and O(log n) on average above. Memory depends on the number of distinct values, not
 * on the number of samples.
 */
#ifndef BLIS_BASE_CONTAINERS_HISTOGRAM_H
#define BLIS_BASE_CONTAINERS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

struct blis__histogram_chunk;
struct blis__histogram_far;

/* The members are private. */
typedef struct blis_histogram {
  blis_alloc alloc;
  BLIS_ARRAY(struct blis__histogram_chunk) near; /* by value / chunk size */
  BLIS_ARRAY(struct blis__histogram_far) far;
  size_t far_sorted; /* this many at the start are ascending and distinct */
  uint64_t total;
  uint64_t sum;
} blis_histogram;

/* Copies *alloc; allocates nothing yet. */
void blis_histogram_init(blis_histogram *histogram, const blis_alloc *alloc);

void blis_histogram_deinit(blis_histogram *histogram);

/* Removes every sample and frees the memory. */
void blis_histogram_clear(blis_histogram *histogram);

/*
 * Adds count samples of value. BLIS_ERR_INVALID if value is negative or the sum of all samples
 * would exceed 2^64 - 1. A failure leaves the histogram unchanged.
 */
BLIS_MUSTUSE blis_status blis_histogram_add(blis_histogram *histogram, int64_t value,
                                            uint64_t count);

/*
 * Adds count samples of each of the n values, like n calls of blis_histogram_add, but all or none.
 */
BLIS_MUSTUSE blis_status blis_histogram_add_each(blis_histogram *histogram, const int64_t *values,
                                                 size_t n, uint64_t count);

/*
 * Removes count samples of value, which the histogram must contain. Use it to undo samples that
 * should not have been counted. Costs as much as adding, unless memory is exhausted.
 */
void blis_histogram_remove(blis_histogram *histogram, int64_t value, uint64_t count);

/* Adds all samples of another histogram; fails like blis_histogram_add. */
BLIS_MUSTUSE blis_status blis_histogram_merge(blis_histogram *histogram,
                                              const blis_histogram *other);

/* The number of samples. */
uint64_t blis_histogram_total(const blis_histogram *histogram);

/* The sum of all samples. */
uint64_t blis_histogram_sum(const blis_histogram *histogram);

/* The least and the greatest sample; 0 without samples. */
int64_t blis_histogram_min(blis_histogram *histogram);
int64_t blis_histogram_max(blis_histogram *histogram);

/*
 * Returns the sample at a rank of the ascending list of all samples, counted from 0; rank < total.
 * Not const, because it may sort.
 */
int64_t blis_histogram_at_rank(blis_histogram *histogram, uint64_t rank);

/*
 * Steps through the distinct values in ascending order. Stores the first value after *value and its
 * count. Returns false at the end. Start with -1.
 */
bool blis_histogram_next(blis_histogram *histogram, int64_t *value, uint64_t *count);

#endif
