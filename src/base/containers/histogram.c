#include "base/containers/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

enum {
  NEAR_LIMIT = 1 << 20,
  CHUNK_VALUES = 512,
  UNSORTED_MIN = 64 /* fewer unsorted far values are not worth sorting */
};

typedef struct blis__histogram_chunk {
  uint64_t *counts; /* CHUNK_VALUES counts, or NULL while all are 0 */
  uint64_t total;
} chunk;

typedef struct blis__histogram_far {
  int64_t value;
  uint64_t count;
} far_value;

void blis_histogram_init(blis_histogram *histogram, const blis_alloc *alloc) {
  *histogram = (blis_histogram){.alloc = *alloc};
}

void blis_histogram_deinit(blis_histogram *histogram) {
  blis_alloc alloc = histogram->alloc;
  for (size_t i = 0; i < histogram->near.count; i++) {
    blis_alloc_free(&alloc, histogram->near.items[i].counts, CHUNK_VALUES * sizeof(uint64_t));
  }
  blis_array_deinit(&alloc, &histogram->near);
  blis_array_deinit(&alloc, &histogram->far);
  blis_histogram_init(histogram, &alloc);
}

void blis_histogram_clear(blis_histogram *histogram) {
  blis_histogram_deinit(histogram);
}

static blis_status make_chunk(blis_histogram *histogram, size_t i) {
  BLIS_TRY(blis_array_reserve(&histogram->alloc, &histogram->near, i + 1));
  while (histogram->near.count <= i) {
    histogram->near.items[histogram->near.count++] = (chunk){0};
  }
  chunk *needed = &histogram->near.items[i];
  if (needed->counts == NULL) {
    needed->counts = blis_alloc_zeroed(&histogram->alloc, CHUNK_VALUES, sizeof(uint64_t));
  }
  return needed->counts != NULL ? BLIS_OK : BLIS_ERR_NOMEM;
}

/* Allocates the counts of chunk i on first use. */
static inline blis_status need_chunk(blis_histogram *histogram, size_t i) {
  return i < histogram->near.count && histogram->near.items[i].counts != NULL
             ? BLIS_OK
             : make_chunk(histogram, i);
}

static inline void add_near(blis_histogram *histogram, int64_t value, uint64_t count) {
  chunk *changed = &histogram->near.items[value / CHUNK_VALUES];
  changed->counts[value % CHUNK_VALUES] += count;
  changed->total += count;
}

static int compare_far(const void *a, const void *b) {
  int64_t left = ((const far_value *)a)->value;
  int64_t right = ((const far_value *)b)->value;
  return (left > right) - (left < right);
}

/* Sorts all far values, merges equal values, and drops removed values. */
static void sort_far(blis_histogram *histogram) {
  if (histogram->far_sorted == histogram->far.count) {
    return;
  }
  far_value *items = histogram->far.items;
  qsort(items, histogram->far.count, sizeof *items, compare_far);
  size_t kept = 0;
  for (size_t i = 0; i < histogram->far.count;) {
    far_value joined = items[i++];
    for (; i < histogram->far.count && items[i].value == joined.value; i++) {
      joined.count += items[i].count;
    }
    BLIS_ASSERT(joined.count <= INT64_MAX); /* no sample was removed twice */
    if (joined.count > 0) {
      items[kept++] = joined;
    }
  }
  histogram->far.count = kept;
  histogram->far_sorted = kept;
}

/*
 * Adds a value to the unsorted tail, which must have space. The count may be a negative number
 * modulo 2^64. The tail is sorted when it is as long as the sorted part, so the average cost of a
 * value is O(log n).
 */
static void add_far(blis_histogram *histogram, int64_t value, uint64_t count) {
  size_t last = histogram->far.count;
  if (last > histogram->far_sorted && histogram->far.items[last - 1].value == value) {
    histogram->far.items[last - 1].count += count;
    return;
  }
  histogram->far.items[last] = (far_value){value, count};
  histogram->far.count++;
  size_t unsorted = histogram->far.count - histogram->far_sorted;
  if (unsorted >= UNSORTED_MIN && unsorted >= histogram->far_sorted) {
    sort_far(histogram);
  }
}

/* Returns the index of the first far value >= start in the sorted list. */
static size_t next_far(const blis_histogram *histogram, int64_t start) {
  size_t low = 0;
  size_t high = histogram->far.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (histogram->far.items[middle].value < start) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Returns whether `total` samples with this sum can be added without overflow. */
static bool has_room(const blis_histogram *histogram, uint64_t total, uint64_t sum) {
  return total <= UINT64_MAX - histogram->total && sum <= UINT64_MAX - histogram->sum;
}

/*
 * Returns false if a sum overflows or a value is negative. *differing is set to the bits in which
 * any value differs from the first one.
 */
static bool sum_up(const int64_t *values, size_t n, uint64_t *sum, uint64_t *differing) {
  uint64_t all = 0;
  *sum = 0;
  *differing = 0;
  for (size_t i = 0; i < n; i++) {
    all |= (uint64_t)values[i];
    *differing |= (uint64_t)(values[i] ^ values[0]);
    *sum += (uint64_t)values[i];
  }
  /* At most 2^32 values of at most 2^32 cannot overflow. */
  if (((all | n) >> 32) == 0) {
    return true;
  }
  *sum = 0;
  for (size_t i = 0; i < n; i++) {
    if (values[i] < 0 || (uint64_t)values[i] > UINT64_MAX - *sum) {
      return false;
    }
    *sum += (uint64_t)values[i];
  }
  return true;
}

/* Returns false if a * b overflows. */
static bool multiply(uint64_t a, uint64_t b, uint64_t *product) {
  *product = a * b;
  /* The division is needed only for numbers that can overflow. */
  return ((a | b) >> 32) == 0 || b == 0 || a <= UINT64_MAX / b;
}

/* Makes space for one more count of every value. */
static blis_status need_room(blis_histogram *histogram, const int64_t *values, size_t n) {
  size_t far = 0;
  size_t last = SIZE_MAX; /* consecutive values are often close together */
  for (size_t i = 0; i < n; i++) {
    size_t index = (size_t)values[i] / CHUNK_VALUES;
    if (values[i] >= NEAR_LIMIT) {
      far++;
    } else if (index != last) {
      BLIS_TRY(need_chunk(histogram, index));
      last = index;
    }
  }
  return far == 0
             ? BLIS_OK
             : blis_array_reserve(&histogram->alloc, &histogram->far, histogram->far.count + far);
}

/* Adds values to one near chunk, which must exist. */
static void add_to_chunk(chunk *changed, const int64_t *values, size_t n, uint64_t count) {
  uint64_t *counts = changed->counts;
  for (size_t i = 0; i < n; i++) {
    counts[(uint64_t)values[i] % CHUNK_VALUES] += count;
  }
  changed->total += n * count;
}

/* Adds one value in the common case; returns false if the general case is needed. */
static bool add_quickly(blis_histogram *histogram, int64_t value, uint64_t count) {
  size_t index = (uint64_t)value / CHUNK_VALUES;
  if ((uint64_t)value >= NEAR_LIMIT || index >= histogram->near.count ||
      histogram->near.items[index].counts == NULL || count >> 32 != 0 ||
      !has_room(histogram, count, (uint64_t)value * count)) {
    return false;
  }
  add_near(histogram, value, count);
  histogram->total += count;
  histogram->sum += (uint64_t)value * count;
  return true;
}

blis_status blis_histogram_add_each(blis_histogram *histogram, const int64_t *values, size_t n,
                                    uint64_t count) {
  uint64_t sum;
  uint64_t differing;
  uint64_t weighted_sum = 0;
  uint64_t total = 0;
  if (n == 1 && add_quickly(histogram, values[0], count)) {
    return BLIS_OK;
  }
  if (!sum_up(values, n, &sum, &differing) || !multiply(sum, count, &weighted_sum) ||
      !multiply(n, count, &total) || !has_room(histogram, total, weighted_sum)) {
    return BLIS_ERR_INVALID;
  }
  if (count == 0 || n == 0) {
    return BLIS_OK;
  }
  /* This usually applies to durations of consecutive steps. */
  if (values[0] < NEAR_LIMIT && differing < CHUNK_VALUES) {
    size_t index = (size_t)values[0] / CHUNK_VALUES;
    BLIS_TRY(need_chunk(histogram, index));
    add_to_chunk(&histogram->near.items[index], values, n, count);
  } else {
    BLIS_TRY(need_room(histogram, values, n));
    for (size_t i = 0; i < n; i++) {
      if (values[i] < NEAR_LIMIT) {
        add_near(histogram, values[i], count);
      } else {
        add_far(histogram, values[i], count);
      }
    }
  }
  histogram->total += total;
  histogram->sum += weighted_sum;
  return BLIS_OK;
}

blis_status blis_histogram_add(blis_histogram *histogram, int64_t value, uint64_t count) {
  return blis_histogram_add_each(histogram, &value, 1, count);
}

/* Removes a far value. Removals are appended to the unsorted tail while it has space. */
static void remove_far(blis_histogram *histogram, int64_t value, uint64_t count) {
  if (histogram->far.count < histogram->far.capacity) {
    add_far(histogram, value, 0 - count);
    return;
  }
  sort_far(histogram);
  size_t i = next_far(histogram, value);
  far_value *items = histogram->far.items;
  BLIS_ASSERT(i < histogram->far.count && items[i].value == value && items[i].count >= count);
  items[i].count -= count;
  if (items[i].count == 0) {
    size_t after = histogram->far.count - i - 1;
    memmove(&items[i], &items[i + 1], after * sizeof *items);
    histogram->far.count--;
    histogram->far_sorted--;
  }
}

void blis_histogram_remove(blis_histogram *histogram, int64_t value, uint64_t count) {
  if (value < NEAR_LIMIT) {
    chunk *changed = &histogram->near.items[value / CHUNK_VALUES];
    BLIS_ASSERT(changed->counts[value % CHUNK_VALUES] >= count);
    changed->counts[value % CHUNK_VALUES] -= count;
    changed->total -= count;
  } else {
    remove_far(histogram, value, count);
  }
  BLIS_ASSERT(histogram->sum >= (uint64_t)value * count);
  histogram->total -= count;
  histogram->sum -= (uint64_t)value * count;
}

static void merge_chunk(chunk *into, const chunk *from) {
  for (size_t i = 0; i < CHUNK_VALUES; i++) {
    into->counts[i] += from->counts[i];
  }
  into->total += from->total;
}

blis_status blis_histogram_merge(blis_histogram *histogram, const blis_histogram *other) {
  BLIS_ASSERT(other != histogram);
  if (other->total == 0) {
    return BLIS_OK;
  }
  if (!has_room(histogram, other->total, other->sum)) {
    return BLIS_ERR_INVALID;
  }
  for (size_t i = 0; i < other->near.count; i++) {
    if (other->near.items[i].counts != NULL) {
      BLIS_TRY(need_chunk(histogram, i));
    }
  }
  BLIS_TRY(blis_array_reserve(&histogram->alloc, &histogram->far,
                              histogram->far.count + other->far.count));
  for (size_t i = 0; i < other->near.count; i++) {
    if (other->near.items[i].counts != NULL) {
      merge_chunk(&histogram->near.items[i], &other->near.items[i]);
    }
  }
  for (size_t i = 0; i < other->far.count; i++) {
    add_far(histogram, other->far.items[i].value, other->far.items[i].count);
  }
  histogram->total += other->total;
  histogram->sum += other->sum;
  return BLIS_OK;
}

uint64_t blis_histogram_total(const blis_histogram *histogram) {
  return histogram->total;
}

uint64_t blis_histogram_sum(const blis_histogram *histogram) {
  return histogram->sum;
}

int64_t blis_histogram_at_rank(blis_histogram *histogram, uint64_t rank) {
  BLIS_ASSERT(rank < histogram->total);
  for (size_t c = 0; c < histogram->near.count; c++) {
    const chunk *searched = &histogram->near.items[c];
    if (rank < searched->total) {
      size_t i = 0;
      for (; rank >= searched->counts[i]; i++) {
        BLIS_ASSERT(i + 1 < CHUNK_VALUES);
        rank -= searched->counts[i];
      }
      return (int64_t)(c * CHUNK_VALUES + i);
    }
    rank -= searched->total;
  }
  sort_far(histogram);
  const far_value *found = histogram->far.items;
  for (; rank >= found->count; found++) {
    rank -= found->count;
  }
  return found->value;
}

int64_t blis_histogram_min(blis_histogram *histogram) {
  return histogram->total == 0 ? 0 : blis_histogram_at_rank(histogram, 0);
}

int64_t blis_histogram_max(blis_histogram *histogram) {
  return histogram->total == 0 ? 0 : blis_histogram_at_rank(histogram, histogram->total - 1);
}

/* Returns the first near value >= start that occurred, or NEAR_LIMIT. */
static int64_t next_near(const blis_histogram *histogram, int64_t start) {
  size_t c = (size_t)start / CHUNK_VALUES;
  size_t i = (size_t)start % CHUNK_VALUES;
  for (; c < histogram->near.count; c++, i = 0) {
    const chunk *searched = &histogram->near.items[c];
    for (; searched->total > 0 && i < CHUNK_VALUES; i++) {
      if (searched->counts[i] > 0) {
        return (int64_t)(c * CHUNK_VALUES + i);
      }
    }
  }
  return NEAR_LIMIT;
}

bool blis_histogram_next(blis_histogram *histogram, int64_t *value, uint64_t *count) {
  if (*value == INT64_MAX) {
    return false;
  }
  int64_t start = *value + 1;
  int64_t found = start < NEAR_LIMIT ? next_near(histogram, start) : NEAR_LIMIT;
  if (found < NEAR_LIMIT) {
    *value = found;
    *count = histogram->near.items[found / CHUNK_VALUES].counts[found % CHUNK_VALUES];
    return true;
  }
  sort_far(histogram);
  size_t i = next_far(histogram, start);
  if (i == histogram->far.count) {
    return false;
  }
  *value = histogram->far.items[i].value;
  *count = histogram->far.items[i].count;
  return true;
}
