#include "results/percentiles.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "results/order.h"

static const struct {
  const char *name;
  double percent;
} percentiles[BLIS_PERCENTILE_COUNT] = {
#define XX(constant, name, percent) {name, percent},
    BLIS_PERCENTILE_MAP(XX)
#undef XX
};

const char *blis_percentile_name(blis_percentile percentile) {
  return percentiles[percentile].name;
}

/* Sets. */

blis_status blis_value_set_init(blis_value_set *set, const blis_alloc *alloc, size_t capacity,
                                bool is_double) {
  *set = (blis_value_set){.is_double = is_double};
  if (capacity == 0) {
    return BLIS_OK;
  }
  if (capacity > SIZE_MAX / sizeof *set->keys) {
    return BLIS_ERR_NOMEM;
  }
  set->keys = blis_alloc_new(alloc, capacity * sizeof *set->keys);
  if (set->keys == NULL) {
    return BLIS_ERR_NOMEM;
  }
  set->capacity = capacity;
  return BLIS_OK;
}

void blis_value_set_deinit(blis_value_set *set, const blis_alloc *alloc) {
  blis_alloc_free(alloc, set->keys, set->capacity * sizeof *set->keys);
  *set = (blis_value_set){0};
}

void blis_value_set_clear(blis_value_set *set, bool is_double) {
  set->count = 0;
  set->is_double = is_double;
}

void blis_value_set_add(blis_value_set *set, int64_t value_us) {
  BLIS_ASSERT(set->count < set->capacity && value_us >= 0 && !set->is_double);
  set->keys[set->count++] = (uint64_t)value_us;
}

void blis_value_set_add_double(blis_value_set *set, double value_us) {
  BLIS_ASSERT(set->count < set->capacity && value_us >= 0 && set->is_double);
  memcpy(&set->keys[set->count++], &value_us, sizeof value_us);
}

static double value_at(const blis_value_set *set, size_t rank) {
  uint64_t key = set->keys[rank];
  if (!set->is_double) {
    return (double)key;
  }
  double value;
  memcpy(&value, &key, sizeof value);
  return value;
}

/* Figures. */

typedef struct neighbours {
  size_t low;
  size_t high;
  double fraction;
} neighbours;

static neighbours rank_of(int percentile, size_t count) {
  double rank = percentiles[percentile].percent / 100.0 * (double)(count - 1);
  double low = floor(rank);
  return (neighbours){(size_t)low, (size_t)ceil(rank), rank - low};
}

static void put_percentile(blis_percentiles *d, int percentile, double low, double high,
                           const neighbours *n) {
  double step = high - low;
  if (n->low == n->high) {
    d->at_us[percentile] = low;
    d->at_ms[percentile] = low / 1000;
    return;
  }
  d->at_us[percentile] = low + n->fraction * step;
  d->at_ms[percentile] = low / 1000 + (step * n->fraction) / 1000;
}

static void put_rest(blis_percentiles *d, size_t count, double min, double max, double sum) {
  d->count = (int64_t)count;
  d->min_us = min;
  d->max_us = max;
  d->mean_us = sum / (double)count;
  BLIS_ASSERT(min <= max && sum >= min);
  d->min_ms = min / 1000;
  d->max_ms = max / 1000;
  d->mean_ms = d->mean_us / 1000;
}

/*
 * The mean is that of adding up ascending values. While the sum is a whole
 * number that a double has exactly, the order makes no difference, and only the
 * values at the ranks of percentiles have to be found.
 */
static bool sum_exactly(const blis_value_set *set, double *sum) {
  const uint64_t limit = UINT64_C(1) << 53;
  if (set->is_double) {
    return false;
  }
  uint64_t exact = 0;
  for (size_t i = 0; i < set->count; i++) {
    if (set->keys[i] > limit - exact) {
      return false;
    }
    exact += set->keys[i];
  }
  *sum = (double)exact;
  return true;
}

static void find_percentiles(blis_value_set *set) {
  size_t ranks[2 * BLIS_PERCENTILE_COUNT + 2] = {0};
  size_t count = 1;
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    neighbours n = rank_of(p, set->count);
    ranks[count++] = n.low;
    ranks[count++] = n.high;
  }
  ranks[count++] = set->count - 1;
  blis__order_at(set->keys, set->count, ranks, count);
}

static double sum_in_order(blis_value_set *set) {
  blis__order_all(set->keys, set->count);
  double sum = 0;
  for (size_t i = 0; i < set->count; i++) {
    sum += value_at(set, i);
  }
  return sum;
}

void blis_percentiles_of_set(blis_percentiles *result, blis_value_set *set) {
  *result = (blis_percentiles){0};
  size_t count = set->count;
  if (count == 0) {
    return;
  }
  double sum;
  if (sum_exactly(set, &sum)) {
    find_percentiles(set);
  } else {
    sum = sum_in_order(set);
  }
  put_rest(result, count, value_at(set, 0), value_at(set, count - 1), sum);
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    neighbours n = rank_of(p, count);
    put_percentile(result, p, value_at(set, n.low), value_at(set, n.high), &n);
  }
}

void blis_percentiles_of_histogram(blis_percentiles *result, blis_histogram *histogram) {
  *result = (blis_percentiles){0};
  size_t count = (size_t)blis_histogram_total(histogram);
  if (count == 0) {
    return;
  }
  put_rest(result, count, (double)blis_histogram_min(histogram),
           (double)blis_histogram_max(histogram), (double)blis_histogram_sum(histogram));
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    neighbours n = rank_of(p, count);
    put_percentile(result, p, (double)blis_histogram_at_rank(histogram, n.low),
                   (double)blis_histogram_at_rank(histogram, n.high), &n);
  }
}

void blis_percentiles_of_sketch(blis_percentiles *result, const blis_sketch *sketch) {
  *result = (blis_percentiles){0};
  size_t count = (size_t)blis_sketch_total(sketch);
  if (count == 0) {
    return;
  }
  put_rest(result, count, (double)blis_sketch_min(sketch), (double)blis_sketch_max(sketch),
           blis_sketch_mean(sketch) * (double)count);
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    neighbours n = rank_of(p, count);
    put_percentile(result, p, (double)blis_sketch_at_rank(sketch, n.low),
                   (double)blis_sketch_at_rank(sketch, n.high), &n);
  }
}
