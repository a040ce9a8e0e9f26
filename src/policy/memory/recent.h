/*
 * recent.h - the items of a sliding time window, in order.
 *
 * Adding and expiring cost O(1) amortized; memory is proportional to the items in the window.
 */
#ifndef BLIS_POLICY_MEMORY_RECENT_H
#define BLIS_POLICY_MEMORY_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

typedef struct blis__recent_item {
  int64_t at_us;
  int64_t amount;
  int64_t part;   /* part of the amount; meaning defined by the owner */
  uint32_t key;   /* subject, such as an instance or a tenant */
  uint32_t place; /* meaning defined by the owner */
} blis__recent_item;

/* A zeroed struct is empty. */
typedef struct blis__recent {
  BLIS_ARRAY(blis__recent_item) items;
  size_t first; /* valid items are items[first .. count) */
} blis__recent;

void blis__recent_deinit(const blis_alloc *alloc, blis__recent *recent);

/* item->at_us must not be before the time of the last added item. */
BLIS_MUSTUSE blis_status blis__recent_add(const blis_alloc *alloc, blis__recent *recent,
                                          const blis__recent_item *item);

/* Removes the oldest item if its time is before before_us. */
bool blis__recent_expire(blis__recent *recent, int64_t before_us, blis__recent_item *item);

static inline size_t blis__recent_count(const blis__recent *recent) {
  return recent->items.count - recent->first;
}

/* Returns the k-th oldest item. */
static inline const blis__recent_item *blis__recent_at(const blis__recent *recent, size_t k) {
  return &recent->items.items[recent->first + k];
}

#endif
