/*
 * extremes.h - the minimum and maximum of a column of numbers, and of ranges of the column, when
 * few numbers change at a time.
 *
 * A tree over the column in which each node covers 16 nodes or numbers. Level 0 is the column
 * itself. A node of level k represents 16 neighbors of level k - 1 (fewer for the last node), and
 * the last level has one node. Each level is two arrays, so a search scans the 16 parts of a node
 * like a short column. Recording a change reads at most 16 neighbors per level, and usually none.
 */
#ifndef BLIS_BASE_CONTAINERS_EXTREMES_H
#define BLIS_BASE_CONTAINERS_EXTREMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

enum { BLIS_EXTREMES_FAN = 16, BLIS_EXTREMES_LEVELS_MAX = 9 };

typedef struct blis_extremes_level {
  const double *least;
  const double *greatest; /* the same array on level 0 */
  uint32_t count;
} blis_extremes_level;

/* Other code must not write the members. */
typedef struct blis_extremes {
  blis_alloc alloc;
  uint32_t top; /* the level with one node; at least 1 */
  blis_extremes_level levels[BLIS_EXTREMES_LEVELS_MAX];
  double *nodes[BLIS_EXTREMES_LEVELS_MAX]; /* both arrays of a level >= 1 */
} blis_extremes;

/*
 * Builds the tree over values[0 .. count), which are borrowed and must not move. count >= 1, and no
 * value is NaN. Copies *alloc. Returns NULL if memory is exhausted.
 */
blis_extremes *blis_extremes_new(const blis_alloc *alloc, const double *values, uint32_t count);

/* NULL is allowed. */
void blis_extremes_free(blis_extremes *extremes);

/* Records that values[i] has changed; before is its old value. */
void blis_extremes_note(blis_extremes *extremes, uint32_t i, double before);

static inline double blis_extremes_least(const blis_extremes *extremes) {
  return extremes->levels[extremes->top].least[0];
}

static inline double blis_extremes_greatest(const blis_extremes *extremes) {
  return extremes->levels[extremes->top].greatest[0];
}

/* The parts of a node of a level >= 1 are [first, end) of the level below. */
static inline uint32_t blis_extremes_first(uint32_t node) {
  return node * BLIS_EXTREMES_FAN;
}

static inline uint32_t blis_extremes_end(const blis_extremes *extremes, uint32_t level,
                                         uint32_t node) {
  uint32_t count = extremes->levels[level - 1].count;
  uint32_t first = blis_extremes_first(node);
  return count - first < BLIS_EXTREMES_FAN ? count : first + BLIS_EXTREMES_FAN;
}

/* Walks the whole tree, O(count). Returns whether every node is correct. */
bool blis_extremes_check(const blis_extremes *extremes);

#endif
