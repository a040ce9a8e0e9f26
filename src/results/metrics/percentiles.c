#include "results/metrics/percentiles.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/invariant.h"

/*
 * Selection and sorting: finds the keys at some ranks of a list, or sorts all keys.
 *
 * Keys are distributed in place by their highest differing bits, recursively in the parts that
 * contain a wanted rank. Parts with few keys are sorted by insertion. O(count) for keys that are
 * spread out, and a small multiple of that in the worst case. Needs no memory.
 */

enum { FEW = 16, BITS_MAX = 11, PARTS_MAX = 1 << BITS_MAX };

/* Wanted ranks of the whole list. */
typedef struct wanted {
  bool all;
  const size_t *ranks; /* ascending */
  size_t count;
} wanted;

/* The part of the list that is being ordered. */
typedef struct part {
  uint64_t *keys;
  size_t first; /* index of the part in the whole list */
  size_t count;
} part;

static void insert_each(uint64_t *keys, size_t count) {
  for (size_t i = 1; i < count; i++) {
    uint64_t key = keys[i];
    size_t place = i;
    for (; place > 0 && keys[place - 1] > key; place--) {
      keys[place] = keys[place - 1];
    }
    keys[place] = key;
  }
}

static unsigned bits_of(uint64_t value) {
  unsigned bits = 0;
  for (; value != 0; value >>= 1) {
    bits++;
  }
  return bits;
}

/* Maps keys to part numbers: the highest bits of the difference from `least`. */
typedef struct digit {
  uint64_t least;
  unsigned shift;
  size_t parts;
} digit;

static inline size_t number_of(const digit *d, uint64_t key) {
  return (size_t)((key - d->least) >> d->shift);
}

/* Returns false if all keys are equal. */
static bool choose_digit(const part *p, digit *d) {
  uint64_t least = p->keys[0];
  uint64_t most = least;
  for (size_t i = 1; i < p->count; i++) {
    uint64_t key = p->keys[i];
    least = key < least ? key : least;
    most = key > most ? key : most;
  }
  if (least == most) {
    return false;
  }
  unsigned bits = bits_of(p->count) - 1;
  unsigned range = bits_of(most - least);
  bits = bits < BITS_MAX ? bits : BITS_MAX;
  bits = bits < range ? bits : range;
  *d = (digit){least, range - bits, (size_t)1 << bits};
  return true;
}

/* Sets starts[k] and ends[k] to the start and end of part k. */
static void count_parts(const part *p, const digit *d, uint32_t *starts, uint32_t *ends) {
  memset(ends, 0, d->parts * sizeof *ends);
  for (size_t i = 0; i < p->count; i++) {
    ends[number_of(d, p->keys[i])]++;
  }
  uint32_t place = 0;
  for (size_t k = 0; k < d->parts; k++) {
    starts[k] = place;
    place += ends[k];
    ends[k] = place;
  }
  BLIS_ASSERT(place == p->count);
}

/*
 * Moves each key into its part; the key that it displaces moves next. next is the first free index
 * of each part; afterwards it is the end of the part.
 */
static void distribute(const part *p, const digit *d, uint32_t *next, const uint32_t *ends) {
  for (size_t k = 0; k < d->parts; k++) {
    while (next[k] < ends[k]) {
      uint64_t key = p->keys[next[k]];
      for (size_t to = number_of(d, key); to != k; to = number_of(d, key)) {
        uint64_t other = p->keys[next[to]];
        p->keys[next[to]++] = key;
        key = other;
      }
      p->keys[next[k]++] = key;
    }
  }
}

/* Drops the ranks before first; returns whether any rank is before end. */
static bool is_wanted(wanted *want, size_t first, size_t end) {
  while (want->count > 0 && want->ranks[0] < first) {
    want->ranks++;
    want->count--;
  }
  return want->all || (want->count > 0 && want->ranks[0] < end);
}

static void order(const part *whole, wanted want) {
  if (whole->count <= FEW) {
    insert_each(whole->keys, whole->count);
    return;
  }
  digit d;
  if (!choose_digit(whole, &d)) {
    return;
  }
  uint32_t next[PARTS_MAX];
  uint32_t ends[PARTS_MAX];
  count_parts(whole, &d, next, ends);
  distribute(whole, &d, next, ends);
  size_t start = 0;
  for (size_t k = 0; d.shift > 0 && k < d.parts; k++) {
    const part p = {whole->keys + start, whole->first + start, ends[k] - start};
    if (p.count > 1 && is_wanted(&want, p.first, p.first + p.count)) {
      order(&p, want);
    }
    start = ends[k];
  }
}

/*
 * Moves the keys that a sorted list has at the wanted ranks to these ranks. Ranks are ascending.
 * All other keys end up in arbitrary order between them. count must fit into 32 bits.
 */
static void order_at(uint64_t *keys, size_t count, const size_t *ranks, size_t rank_count) {
  BLIS_ASSERT(count <= UINT32_MAX);
  order(&(part){keys, 0, count}, (wanted){false, ranks, rank_count});
}

/* Sorts all keys in ascending order. */
static void order_all(uint64_t *keys, size_t count) {
  BLIS_ASSERT(count <= UINT32_MAX);
  order(&(part){keys, 0, count}, (wanted){.all = true});
}

/* Percentiles. */

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

/* Metrics. */

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
 * Sums the values for the mean. The mean equals the sum of ascending values. If the sum is an
 * integer that a double represents exactly, the order does not matter, and only the values at the
 * ranks of percentiles must be found.
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
  order_at(set->keys, set->count, ranks, count);
}

static double sum_in_order(blis_value_set *set) {
  order_all(set->keys, set->count);
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
