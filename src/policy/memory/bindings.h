/*
 * bindings.h - sessions or prefixes that a router has bound to instances.
 *
 * A map from 64-bit keys to instances, ordered by the last use of its entries. Every operation is
 * O(1); an entry takes about 80 bytes. Entries are never removed automatically.
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
  uint32_t older; /* neighbors in order of use */
  uint32_t newer;
} blis__binding;

typedef struct blis__bindings {
  blis_map by_key; /* from keys to indices in the pool */
  blis_pool pool;
  uint32_t oldest;
  uint32_t newest;
} blis__bindings;

/* Copies *alloc; allocates nothing yet. */
void blis__bindings_init(blis__bindings *bindings, const blis_alloc *alloc);
void blis__bindings_deinit(blis__bindings *bindings);

uint32_t blis__bindings_count(const blis__bindings *bindings);

/* Returns the entry of a key, valid until it is removed; NULL if the key is not bound. Does not
   count as a use. */
const blis__binding *blis__bindings_find(const blis__bindings *bindings, uint64_t key);

/* Returns the candidate that key is bound to, or view->count if key is not bound. */
size_t blis__bindings_candidate(const blis__bindings *bindings, uint64_t key,
                                const blis_routing_view *view);

/* Binds or rebinds key and makes it the most recently used entry. */
BLIS_MUSTUSE blis_status blis__bindings_put(blis__bindings *bindings, uint64_t key,
                                            uint32_t instance, int64_t now_us);

/* Does nothing if key is not bound. */
void blis__bindings_remove(blis__bindings *bindings, uint64_t key);

/* Removes the count least recently used entries. */
void blis__bindings_drop_oldest(blis__bindings *bindings, uint32_t count);

#endif
