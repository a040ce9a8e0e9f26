/*
 * percentiles.h - mean and percentiles of a set of times.
 *
 * The percentile p of n ascending values has the rank p / 100 * (n - 1). A rank between two values
 * interpolates between them. Values are microseconds. The metrics in ms are computed from them in
 * the order of operations of BLIS (Go), to the last bit. For an empty set, all metrics are 0.
 */
#ifndef BLIS_RESULTS_METRICS_PERCENTILES_H
#define BLIS_RESULTS_METRICS_PERCENTILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/histogram.h"
#include "base/containers/sketch.h"
#include "base/error.h"

/* XX(constant, name, percent) */
#define BLIS_PERCENTILE_MAP(XX)                                                                    \
  XX(P50, "p50", 50.0)                                                                             \
  XX(P75, "p75", 75.0)                                                                             \
  XX(P90, "p90", 90.0)                                                                             \
  XX(P95, "p95", 95.0)                                                                             \
  XX(P99, "p99", 99.0)                                                                             \
  XX(P999, "p99.9", 99.9)

typedef enum blis_percentile {
#define XX(constant, name, percent) BLIS_##constant,
  BLIS_PERCENTILE_MAP(XX)
#undef XX
      BLIS_PERCENTILE_COUNT
} blis_percentile;

/* "p50", "p99.9"; static storage. */
const char *blis_percentile_name(blis_percentile percentile);

/* The metrics in both units. _us values are not the rounded _ms values. */
typedef struct blis_percentiles {
  int64_t count;
  double min_us;
  double max_us;
  double mean_us;
  double at_us[BLIS_PERCENTILE_COUNT];
  double min_ms;
  double max_ms;
  double mean_ms;
  double at_ms[BLIS_PERCENTILE_COUNT];
} blis_percentiles;

/*
 * A set of values >= 0: either whole microseconds, or doubles. Doubles are stored as their bit
 * patterns, which have the same order.
 */
typedef struct blis_value_set {
  uint64_t *keys;
  size_t count;
  size_t capacity;
  bool is_double;
} blis_value_set;

/* Allocates space for up to capacity values. Nothing remains allocated on BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis_value_set_init(blis_value_set *set, const blis_alloc *alloc,
                                             size_t capacity, bool is_double);
void blis_value_set_deinit(blis_value_set *set, const blis_alloc *alloc);

/* Adds a value. The set must not be full. */
void blis_value_set_add(blis_value_set *set, int64_t value_us);
void blis_value_set_add_double(blis_value_set *set, double value_us);

/* Removes all values and sets the type of later ones. */
void blis_value_set_clear(blis_value_set *set, bool is_double);

/* Computes the metrics of a set in O(count). Reorders the set. */
void blis_percentiles_of_set(blis_percentiles *result, blis_value_set *set);

/* Computes the metrics from a sketch. Percentiles are at most 1/256 too low; everything else is
   exact. */
void blis_percentiles_of_sketch(blis_percentiles *result, const blis_sketch *sketch);

/* Computes the metrics from all samples of a histogram. */
void blis_percentiles_of_histogram(blis_percentiles *result, blis_histogram *histogram);

#endif
