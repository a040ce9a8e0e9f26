#include "cluster/requests/chain_cache.h"

#include "base/invariant.h"

typedef struct entry {
  uint32_t block_size;
  bool is_made;
  blis_block_chain chain;
} entry;

void blis__chain_cache_init(blis__chain_cache *cache, const blis_alloc *alloc,
                            blis_block_namer *namer) {
  *cache = (blis__chain_cache){.namer = namer};
  blis_pool_init(&cache->entries, alloc, sizeof(entry));
}

void blis__chain_cache_deinit(blis__chain_cache *cache) {
  blis__chain_cache_end(cache);
  blis_pool_deinit(&cache->entries);
  cache->count = 0;
}

void blis__chain_cache_begin(blis__chain_cache *cache, const blis_request *request) {
  BLIS_ASSERT(cache->request == NULL);
  cache->request = request;
}

void blis__chain_cache_begin_again(blis__chain_cache *cache, const blis_request *request,
                                   const blis_block_chain *own) {
  blis__chain_cache_begin(cache, request);
  cache->own = own;
}

static entry *entry_at(const blis__chain_cache *cache, uint32_t index) {
  return blis_pool_item(&cache->entries, index);
}

/* Finds or adds the entry of a block size; NULL = out of memory. */
static entry *find_or_add(blis__chain_cache *cache, uint32_t block_size) {
  for (uint32_t i = 0; i < cache->count; i++) {
    if (entry_at(cache, i)->block_size == block_size) {
      return entry_at(cache, i);
    }
  }
  uint32_t index;
  if (blis_pool_take(&cache->entries, &index) != BLIS_OK) {
    return NULL;
  }
  cache->count++; /* indexes count up, because nothing is ever freed */
  entry *added = entry_at(cache, index);
  *added = (entry){.block_size = block_size};
  return added;
}

static entry *make(blis__chain_cache *cache, uint32_t block_size) {
  BLIS_ASSERT(cache->request != NULL);
  entry *e = find_or_add(cache, block_size);
  if (e != NULL && !e->is_made) {
    if (blis_block_namer_chain(cache->namer, cache->request, block_size, &e->chain, NULL) !=
        BLIS_OK) {
      return NULL;
    }
    if (cache->own != NULL) {
      e->chain.private_base = cache->own->private_base;
    }
    e->is_made = true;
  }
  return e;
}

const blis_block_chain *blis__chain_cache_get(blis__chain_cache *cache, uint32_t block_size) {
  const entry *e = make(cache, block_size);
  return e == NULL ? NULL : &e->chain;
}

blis_status blis__chain_cache_take(blis__chain_cache *cache, uint32_t block_size,
                                   blis_block_chain *chain) {
  entry *e = make(cache, block_size);
  if (e == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *chain = e->chain;
  e->is_made = false;
  return BLIS_OK;
}

void blis__chain_cache_end(blis__chain_cache *cache) {
  cache->request = NULL;
  cache->own = NULL;
  for (uint32_t i = 0; i < cache->count; i++) {
    entry *e = entry_at(cache, i);
    if (e->is_made) {
      blis_block_namer_release(cache->namer, &e->chain);
      e->is_made = false;
    }
  }
}
