#include "base/pool.h"
#include "base/invariant.h"

#ifdef BLIS_PARANOID
enum { CHUNK_SIZE = 1 };
#else
enum { CHUNK_SIZE = 16 * 1024 };
#endif

/* The link of a live item; no item has this index. */
#define LIVE (UINT32_MAX - 1)

void blis_pool_init(blis_pool *pool, const blis_alloc *alloc, size_t item_size) {
  BLIS_ASSERT(item_size > 0);
  *pool = (blis_pool){
      .alloc = *alloc, .item_size = item_size, .chunk_shift = 3, .first_free = BLIS_POOL_NONE};
  while (item_size << (pool->chunk_shift + 1) <= CHUNK_SIZE) {
    pool->chunk_shift++;
  }
}

void blis_pool_deinit(blis_pool *pool) {
  for (size_t i = 0; i < pool->chunks.count; i++) {
    blis_alloc_free(&pool->alloc, pool->chunks.items[i], pool->item_size << pool->chunk_shift);
  }
  blis_array_deinit(&pool->alloc, &pool->chunks);
  blis_array_deinit(&pool->alloc, &pool->links);
  pool->first_free = BLIS_POOL_NONE;
  pool->live_count = 0;
}

static blis_status add_chunk(blis_pool *pool) {
  BLIS_TRY(blis_array_reserve(&pool->alloc, &pool->chunks, pool->chunks.count + 1));
  unsigned char *chunk = blis_alloc_new(&pool->alloc, pool->item_size << pool->chunk_shift);
  if (chunk == NULL) {
    return BLIS_ERR_NOMEM;
  }
  pool->chunks.items[pool->chunks.count++] = chunk;
  return BLIS_OK;
}

blis_status blis_pool_take(blis_pool *pool, uint32_t *index) {
  uint32_t taken = pool->first_free;
  if (taken == BLIS_POOL_NONE) {
    size_t count = pool->links.count;
    if (count >= LIVE) {
      return BLIS_ERR_NOMEM;
    }
    BLIS_TRY(blis_array_reserve(&pool->alloc, &pool->links, count + 1));
    if (count >> pool->chunk_shift == pool->chunks.count) {
      BLIS_TRY(add_chunk(pool));
    }
    taken = (uint32_t)count;
    pool->links.count++;
  } else {
    BLIS_ASSERT(taken < pool->links.count && !blis_pool_is_live(pool, taken));
    pool->first_free = pool->links.items[taken];
  }
  pool->links.items[taken] = LIVE;
  pool->live_count++;
  *index = taken;
  BLIS_ASSERT(pool->live_count <= pool->links.count);
  return BLIS_OK;
}

void blis_pool_give(blis_pool *pool, uint32_t index) {
  BLIS_ASSERT(blis_pool_is_live(pool, index));
  pool->links.items[index] = pool->first_free;
  pool->first_free = index;
  pool->live_count--;
  BLIS_INVARIANT(blis_pool_check(pool));
}

bool blis_pool_is_live(const blis_pool *pool, uint32_t index) {
  return index < pool->links.count && pool->links.items[index] == LIVE;
}

uint32_t blis_pool_count(const blis_pool *pool) {
  return pool->live_count;
}

bool blis_pool_check(const blis_pool *pool) {
  size_t live = 0;
  for (size_t i = 0; i < pool->links.count; i++) {
    live += pool->links.items[i] == LIVE;
  }
  size_t free_count = 0;
  for (uint32_t i = pool->first_free; i != BLIS_POOL_NONE; i = pool->links.items[i]) {
    if (i >= pool->links.count || free_count == pool->links.count) {
      return false;
    }
    free_count++;
  }
  return live == pool->live_count && live + free_count == pool->links.count;
}
