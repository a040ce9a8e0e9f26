#include "base/containers/sketch.h"

#include "base/invariant.h"

/*
 * Part 0 contains the values 0 .. 255. Part k > 0 contains the values from 2^(k+7) to 2^(k+8) - 1,
 * in 256 buckets of width 2^(k-1).
 */
enum { SUB_BITS = 8, SUB_COUNT = 1 << SUB_BITS };

static int part_of(int64_t value) {
  int bits = 0;
  for (uint64_t rest = (uint64_t)value >> SUB_BITS; rest > 0; rest >>= 1) {
    bits++;
  }
  return bits;
}

static size_t place_in(int64_t value, int part) {
  int shift = part == 0 ? 0 : part - 1;
  return (size_t)(value >> shift) & (SUB_COUNT - 1);
}

static int64_t lower_end(int part, size_t place) {
  return part == 0 ? (int64_t)place : (int64_t)(SUB_COUNT + place) << (part - 1);
}

void blis_sketch_init(blis_sketch *sketch, const blis_alloc *alloc) {
  *sketch = (blis_sketch){.alloc = *alloc};
}

void blis_sketch_deinit(blis_sketch *sketch) {
  blis_alloc alloc = sketch->alloc;
  for (int i = 0; i < BLIS__SKETCH_PARTS; i++) {
    blis_alloc_free(&alloc, sketch->parts[i], SUB_COUNT * sizeof(uint64_t));
  }
  blis_sketch_init(sketch, &alloc);
}

static blis_status need_part(blis_sketch *sketch, int part) {
  if (sketch->parts[part] == NULL) {
    sketch->parts[part] = blis_alloc_zeroed(&sketch->alloc, SUB_COUNT, sizeof(uint64_t));
  }
  return sketch->parts[part] != NULL ? BLIS_OK : BLIS_ERR_NOMEM;
}

static void widen(blis_sketch *sketch, int64_t min, int64_t max) {
  if (sketch->total == 0 || min < sketch->min) {
    sketch->min = min;
  }
  if (sketch->total == 0 || max > sketch->max) {
    sketch->max = max;
  }
}

blis_status blis_sketch_add(blis_sketch *sketch, int64_t value) {
  BLIS_ASSERT(value >= 0);
  int part = part_of(value);
  BLIS_TRY(need_part(sketch, part));
  sketch->parts[part][place_in(value, part)]++;
  widen(sketch, value, value);
  sketch->total++;
  sketch->sum += (double)value;
  return BLIS_OK;
}

uint64_t blis_sketch_total(const blis_sketch *sketch) {
  return sketch->total;
}

double blis_sketch_mean(const blis_sketch *sketch) {
  return sketch->total == 0 ? 0 : sketch->sum / (double)sketch->total;
}

int64_t blis_sketch_min(const blis_sketch *sketch) {
  return sketch->min;
}

int64_t blis_sketch_max(const blis_sketch *sketch) {
  return sketch->max;
}

int64_t blis_sketch_at_rank(const blis_sketch *sketch, uint64_t rank) {
  BLIS_ASSERT(rank < sketch->total);
  for (int i = 0; i < BLIS__SKETCH_PARTS; i++) {
    for (size_t k = 0; sketch->parts[i] != NULL && k < SUB_COUNT; k++) {
      if (rank < sketch->parts[i][k]) {
        int64_t value = lower_end(i, k);
        return value > sketch->min ? value : sketch->min;
      }
      rank -= sketch->parts[i][k];
    }
  }
  return sketch->max;
}
