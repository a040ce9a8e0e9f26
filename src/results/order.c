#include "results/order.h"

#include <stdbool.h>
#include <string.h>

#include "base/invariant.h"

enum { FEW = 16, BITS_MAX = 11, PARTS_MAX = 1 << BITS_MAX };

/* The ranks that are wanted, of the whole list. */
typedef struct wanted {
  bool all;
  const size_t *ranks; /* ascending */
  size_t count;
} wanted;

/* The list that is being put in order: a part of the whole one. */
typedef struct part {
  uint64_t *keys;
  size_t first; /* its place in the whole */
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

/* How keys become numbers of parts: the highest bits of what is above least. */
typedef struct digit {
  uint64_t least;
  unsigned shift;
  size_t parts;
} digit;

static inline size_t number_of(const digit *d, uint64_t key) {
  return (size_t)((key - d->least) >> d->shift);
}

/* False when all keys are equal. */
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

/* ends[k] becomes where part k ends, and starts[k] where it starts. */
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
 * Puts each key into its part: whoever is in the way goes on to its own. Free
 * places of a part begin at next, which ends up where the part ends.
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

/* Drops the ranks before first; is there one before end? */
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

void blis__order_at(uint64_t *keys, size_t count, const size_t *ranks, size_t rank_count) {
  BLIS_ASSERT(count <= UINT32_MAX);
  order(&(part){keys, 0, count}, (wanted){false, ranks, rank_count});
}

void blis__order_all(uint64_t *keys, size_t count) {
  BLIS_ASSERT(count <= UINT32_MAX);
  order(&(part){keys, 0, count}, (wanted){.all = true});
}
