#include "results/percentiles.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"

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

blis_status blis_value_set_init(blis_value_set *set, const blis_alloc *alloc,
                                size_t capacity, bool is_double) {
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

/* Sorting: least digit first, leaving out digits that are all the same. */

enum { DIGIT_BITS = 11, DIGIT_VALUES = 1 << DIGIT_BITS };

/* False when all keys have the same digit, and nothing was moved. */
static bool sort_by_digit(const uint64_t *keys, size_t count, unsigned shift,
                          uint64_t *sorted) {
  size_t places[DIGIT_VALUES] = {0};
  for (size_t i = 0; i < count; i++) {
    places[keys[i] >> shift & (DIGIT_VALUES - 1)]++;
  }
  if (places[keys[0] >> shift & (DIGIT_VALUES - 1)] == count) {
    return false;
  }
  size_t place = 0;
  for (size_t digit = 0; digit < DIGIT_VALUES; digit++) {
    size_t here = places[digit];
    places[digit] = place;
    place += here;
  }
  BLIS_ASSERT(place == count);
  for (size_t i = 0; i < count; i++) {
    sorted[places[keys[i] >> shift & (DIGIT_VALUES - 1)]++] = keys[i];
  }
  return true;
}

static blis_status sort(blis_value_set *set, const blis_alloc *alloc) {
  uint64_t *other = blis_alloc_new(alloc, set->capacity * sizeof *other);
  if (other == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
    if (sort_by_digit(set->keys, set->count, shift, other)) {
      uint64_t *swap = set->keys;
      set->keys = other;
      other = swap;
    }
  }
  BLIS_ASSERT(set->count < 2 || value_at(set, 0) <= value_at(set, 1));
  blis_alloc_free(alloc, other, set->capacity * sizeof *other);
  return BLIS_OK;
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

static void put_percentile(blis_percentiles *d, int percentile, double low,
                           double high, const neighbours *n) {
  double step = high - low;
  if (n->low == n->high) {
    d->at_us[percentile] = low;
    d->at_ms[percentile] = low / 1000;
    return;
  }
  d->at_us[percentile] = low + n->fraction * step;
  d->at_ms[percentile] = low / 1000 + (step * n->fraction) / 1000;
}

static void put_rest(blis_percentiles *d, size_t count, double min, double max,
                     double sum) {
  d->count = (int64_t)count;
  d->min_us = min;
  d->max_us = max;
  d->mean_us = sum / (double)count;
  BLIS_ASSERT(min <= max && sum >= min);
  d->min_ms = min / 1000;
  d->max_ms = max / 1000;
  d->mean_ms = d->mean_us / 1000;
}

blis_status blis_percentiles_of_set(blis_percentiles *result,
                                    blis_value_set *set,
                                    const blis_alloc *alloc) {
  *result = (blis_percentiles){0};
  size_t count = set->count;
  if (count == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(sort(set, alloc));
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += value_at(set, i);
  }
  put_rest(result, count, value_at(set, 0), value_at(set, count - 1), sum);
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    neighbours n = rank_of(p, count);
    put_percentile(result, p, value_at(set, n.low), value_at(set, n.high), &n);
  }
  return BLIS_OK;
}

void blis_percentiles_of_histogram(blis_percentiles *result,
                                   blis_histogram *histogram) {
  *result = (blis_percentiles){0};
  size_t count = (size_t)blis_histogram_total(histogram);
  if (count == 0) {
    return;
  }
  put_rest(result, count, (double)blis_histogram_min(histogram),
           (double)blis_histogram_max(histogram),
           (double)blis_histogram_sum(histogram));
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    neighbours n = rank_of(p, count);
    put_percentile(result, p, (double)blis_histogram_at_rank(histogram, n.low),
                   (double)blis_histogram_at_rank(histogram, n.high), &n);
  }
}

void blis_percentiles_of_sketch(blis_percentiles *result,
                                const blis_sketch *sketch) {
  *result = (blis_percentiles){0};
  size_t count = (size_t)blis_sketch_total(sketch);
  if (count == 0) {
    return;
  }
  put_rest(result, count, (double)blis_sketch_min(sketch),
           (double)blis_sketch_max(sketch),
           blis_sketch_mean(sketch) * (double)count);
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    neighbours n = rank_of(p, count);
    put_percentile(result, p, (double)blis_sketch_at_rank(sketch, n.low),
                   (double)blis_sketch_at_rank(sketch, n.high), &n);
  }
}
