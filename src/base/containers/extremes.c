#include "base/containers/extremes.h"

#include "base/invariant.h"

/* Returns whether a is greater than b, or less than b if `greatest` is false. */
static inline bool beats(double a, double b, bool greatest) {
  return greatest ? a > b : a < b;
}

static inline const double *side_of(const blis_extremes_level *level, bool greatest) {
  return greatest ? level->greatest : level->least;
}

static inline double best_of(const double *values, uint32_t count, bool greatest) {
  double best = values[0];
  for (uint32_t i = 1; i < count; i++) {
    best = beats(values[i], best, greatest) ? values[i] : best;
  }
  return best;
}

/* Computes the value of a node of a level >= 1. */
static inline double best_below(const blis_extremes *extremes, uint32_t level, uint32_t node,
                                bool greatest) {
  uint32_t first = blis_extremes_first(node);
  const blis_extremes_level *below = &extremes->levels[level - 1];
  return best_of(side_of(below, greatest) + first, blis_extremes_end(extremes, level, node) - first,
                 greatest);
}

static bool make_level(blis_extremes *extremes, uint32_t level) {
  uint32_t below = extremes->levels[level - 1].count;
  uint32_t count = (below - 1) / BLIS_EXTREMES_FAN + 1;
  double *nodes = blis_alloc_new(&extremes->alloc, 2 * (size_t)count * sizeof *nodes);
  if (nodes == NULL) {
    return false;
  }
  extremes->top = level;
  extremes->nodes[level] = nodes;
  extremes->levels[level] = (blis_extremes_level){nodes, nodes + count, count};
  for (uint32_t node = 0; node < count; node++) {
    nodes[node] = best_below(extremes, level, node, false);
    nodes[count + node] = best_below(extremes, level, node, true);
  }
  return true;
}

blis_extremes *blis_extremes_new(const blis_alloc *alloc, const double *values, uint32_t count) {
  BLIS_ASSERT(count >= 1);
  blis_extremes *extremes = blis_alloc_new(alloc, sizeof *extremes);
  if (extremes == NULL) {
    return NULL;
  }
  *extremes = (blis_extremes){.alloc = *alloc, .levels = {{values, values, count}}};
  uint32_t level = 0;
  do {
    if (!make_level(extremes, ++level)) {
      blis_extremes_free(extremes);
      return NULL;
    }
  } while (extremes->levels[level].count > 1);
  return extremes;
}

void blis_extremes_free(blis_extremes *extremes) {
  if (extremes == NULL) {
    return;
  }
  blis_alloc alloc = extremes->alloc;
  for (uint32_t level = 1; level <= extremes->top; level++) {
    blis_alloc_free(&alloc, extremes->nodes[level],
                    2 * (size_t)extremes->levels[level].count * sizeof(double));
  }
  blis_alloc_free(&alloc, extremes, sizeof *extremes);
}

/* Updates the nodes above item i, up to the first one that does not change. */
static inline void note(blis_extremes *extremes, uint32_t i, double before, bool greatest) {
  double now = extremes->levels[0].least[i];
  for (uint32_t level = 1; level <= extremes->top; level++) {
    uint32_t node = i / BLIS_EXTREMES_FAN;
    double *best = extremes->nodes[level] + node + (greatest ? extremes->levels[level].count : 0);
    double was = *best;
    if (!beats(now, was, greatest)) {
      if (before != was) {
        return; /* it neither was the best value nor is it now */
      }
      now = best_below(extremes, level, node, greatest);
      if (now == was) {
        return;
      }
    }
    *best = now;
    before = was;
    i = node;
  }
}

void blis_extremes_note(blis_extremes *extremes, uint32_t i, double before) {
  note(extremes, i, before, false);
  note(extremes, i, before, true);
}

bool blis_extremes_check(const blis_extremes *extremes) {
  for (uint32_t level = 1; level <= extremes->top; level++) {
    const blis_extremes_level *l = &extremes->levels[level];
    for (uint32_t node = 0; node < l->count; node++) {
      if (l->least[node] != best_below(extremes, level, node, false) ||
          l->greatest[node] != best_below(extremes, level, node, true)) {
        return false;
      }
    }
  }
  return extremes->levels[extremes->top].count == 1;
}
