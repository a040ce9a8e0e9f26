#include "policy/b3/hotspot_guard.h"

#include <math.h>

#include "base/invariant.h"

enum { STREAK_SHIFT = 32 };

#define COUNT_MASK UINT32_MAX

void blis__hotspot_guard_init(blis__hotspot_guard *guard, const blis_alloc *alloc, size_t window) {
  *guard = (blis__hotspot_guard){.alloc = *alloc, .limit = window};
  blis_map_init(&guard->classes, alloc);
}

void blis__hotspot_guard_deinit(blis__hotspot_guard *guard) {
  blis_map_deinit(&guard->classes);
  blis_array_deinit(&guard->alloc, &guard->window);
}

static void forget_one(blis__hotspot_guard *guard, uint64_t class) {
  if (class == 0) {
    return;
  }
  uint64_t *value = blis_map_find(&guard->classes, class);
  BLIS_ASSERT(value != NULL && (*value & COUNT_MASK) > 0);
  if ((*value & COUNT_MASK) == 1) {
    blis_map_remove(&guard->classes, class);
  } else {
    --*value;
  }
}

/* Adds the request to the window as its newest. */
static blis_status note(blis__hotspot_guard *guard, uint64_t class) {
  if (guard->window.count < guard->limit) {
    BLIS_TRY(blis_array_push(&guard->alloc, &guard->window, class));
  } else {
    BLIS_ASSERT(guard->oldest < guard->window.count);
    forget_one(guard, guard->window.items[guard->oldest]);
    guard->window.items[guard->oldest] = class;
    guard->oldest = (guard->oldest + 1) % guard->limit;
  }
  if (class == 0) {
    return BLIS_OK;
  }
  uint64_t *value;
  BLIS_TRY(blis_map_add(&guard->classes, class, 0, &value, NULL));
  ++*value;
  BLIS_ASSERT(blis_map_count(&guard->classes) <= guard->window.count);
  return BLIS_OK;
}

/* The candidates that hold the prefix, M. */
typedef struct holders {
  size_t count;
  double best;         /* best score among them */
  double best_of_rest; /* best score among the other candidates */
} holders;

static holders find_holders(const blis_routing_view *view, const uint32_t *blocks,
                            const double *scores) {
  holders m = {0, -INFINITY, -INFINITY};
  for (size_t i = 0; i < view->count; i++) {
    bool holds = blocks[view->instances[i]] > 0;
    m.count += holds;
    double *best = holds ? &m.best : &m.best_of_rest;
    *best = fmax(*best, scores[i]);
  }
  return m;
}

blis_status blis__hotspot_guard_apply(blis__hotspot_guard *guard, uint64_t class,
                                      const blis_routing_view *view, const uint32_t *blocks,
                                      double *scores) {
  BLIS_TRY(note(guard, class));
  if (class == 0) {
    return BLIS_OK;
  }
  uint64_t *value = blis_map_find(&guard->classes, class);
  uint64_t own = *value & COUNT_MASK;
  uint64_t streak = *value >> STREAK_SHIFT;
  uint64_t others = guard->window.count - own;
  holders m = find_holders(view, blocks, scores);
  size_t rest = view->count - m.count;
  bool is_hot = m.count > 0 && rest > 0 && own * rest > others * m.count && m.best > m.best_of_rest;
  if (is_hot && streak >= 2 * m.count) {
    for (size_t i = 0; i < view->count; i++) {
      if (blocks[view->instances[i]] > 0) {
        scores[i] = -INFINITY;
      }
    }
    return BLIS_OK;
  }
  *value = own | (is_hot ? streak + 1 : 0) << STREAK_SHIFT;
  return BLIS_OK;
}
