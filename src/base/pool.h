/*
 * pool.h - a pool of items of equal size, identified by small integers.
 *
 * The most recently released item is reused first, so indexes depend only on the order of calls.
 * Items are in chunks that never move: a pointer to an item stays valid until the item is released.
 * Taking and releasing are O(1).
 */
#ifndef BLIS_BASE_POOL_H
#define BLIS_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "base/invariant.h"

/* The index of no item. */
#define BLIS_POOL_NONE UINT32_MAX

/* Private; public only so that items can be reached inline. */
typedef struct blis_pool {
  blis_alloc alloc;
  size_t item_size;
  unsigned chunk_shift; /* log2 of the items in a chunk */
  uint32_t first_free;
  uint32_t live_count;
  BLIS_ARRAY(unsigned char *) chunks;
  BLIS_ARRAY(uint32_t) links; /* next free item, or a mark of a live item */
} blis_pool;

/* Copies *alloc; allocates nothing yet. item_size is sizeof the item's type. */
void blis_pool_init(blis_pool *pool, const blis_alloc *alloc, size_t item_size);

/* Releases all memory. The pool is then empty and can be used again. */
void blis_pool_deinit(blis_pool *pool);

/* Takes an item, which has undefined content. BLIS_ERR_NOMEM leaves the pool unchanged. */
BLIS_MUSTUSE blis_status blis_pool_take(blis_pool *pool, uint32_t *index);

/* Releases a live item. */
void blis_pool_give(blis_pool *pool, uint32_t index);

bool blis_pool_is_live(const blis_pool *pool, uint32_t index);

/* Returns the number of live items. */
uint32_t blis_pool_count(const blis_pool *pool);

/* Returns a live item; valid until it is released. */
static inline void *blis_pool_item(const blis_pool *pool, uint32_t index) {
  BLIS_ASSERT(blis_pool_is_live(pool, index));
  size_t in_chunk = index & ((UINT32_C(1) << pool->chunk_shift) - 1);
  return pool->chunks.items[index >> pool->chunk_shift] + in_chunk * pool->item_size;
}

/* Walks the free items, O(n). Returns whether every invariant holds. */
bool blis_pool_check(const blis_pool *pool);

#endif
