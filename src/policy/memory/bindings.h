/*
 * bindings.h - sessions or prefixes that a router has bound to instances.
 *
 * A map from 64-bit keys to instances, ordered by the last use of its entries.
 * Everything is O(1); about 80 bytes per entry. Entries are never removed
 * automatically.
 */
#ifndef BLIS_POLICY_MEMORY_BINDINGS_H
#define BLIS_POLICY_MEMORY_BINDINGS_H

#include "base/containers/map.h"
#include "base/pool.h"
#include "policy/contract/view.h"

typedef struct blis__binding {
  uint64_t key;
  int64_t last_use_us;
  uint32_t instance;
  uint32_t older; /* neighbours in order of use */
  uint32_t newer;
} blis__binding;

typedef struct blis__bindings {
  blis_map by_key; /* to places in the pool */
  blis_pool pool;
  uint32_t oldest;
  uint32_t newest;
} blis__bindings;

/* Copies *alloc; allocates nothing yet. */
void blis__bindings_init(blis__bindings *bindings, const blis_alloc *alloc);
void blis__bindings_deinit(blis__bindings *bindings);

uint32_t blis__bindings_count(const blis__bindings *bindings);

/* Valid until it is removed; NULL = not bound. Does not count as a use. */
const blis__binding *blis__bindings_find(const blis__bindings *bindings, uint64_t key);

/* The candidate that key is bound to; view->count if it is not bound. */
size_t blis__bindings_candidate(const blis__bindings *bindings, uint64_t key,
                                const blis_routing_view *view);

/* Binds key, or rebinds it, and makes it the one used last. */
BLIS_MUSTUSE blis_status blis__bindings_put(blis__bindings *bindings, uint64_t key,
                                            uint32_t instance, int64_t now_us);

/* Nothing when key is not bound. */
void blis__bindings_remove(blis__bindings *bindings, uint64_t key);

/* Forgets the count entries not used for the longest time. */
void blis__bindings_drop_oldest(blis__bindings *bindings, uint32_t count);

#endif
