/*
 * chain_cache.h - the block chains of the request being decided, one per block size
 * in use.
 *
 * Instances, prefix indexes and scorers may each use another block size. A chain is
 * made at the first query and kept until the decision is complete.
 */
#ifndef BLIS_CLUSTER_REQUESTS_CHAIN_CACHE_H
#define BLIS_CLUSTER_REQUESTS_CHAIN_CACHE_H

#include "base/pool.h"
#include "workload/block_namer.h"

typedef struct blis__chain_cache {
  blis_pool entries; /* one per requested block size, never freed */
  uint32_t count;
  blis_block_namer *namer;     /* borrowed */
  const blis_request *request; /* being decided about */
  const blis_block_chain *own; /* whose private identities it has; or NULL */
} blis__chain_cache;

/* Copies *alloc, borrows namer; allocates nothing yet. */
void blis__chain_cache_init(blis__chain_cache *cache, const blis_alloc *alloc,
                            blis_block_namer *namer);
void blis__chain_cache_deinit(blis__chain_cache *cache);

/* A decision about a request begins; it is borrowed until the end. */
void blis__chain_cache_begin(blis__chain_cache *cache, const blis_request *request);

/*
 * Begins another decision about a request whose chain exists, borrowed until the
 * end; its private blocks equal the blocks of that chain. Every requested chain has
 * the same block size.
 */
void blis__chain_cache_begin_again(blis__chain_cache *cache, const blis_request *request,
                                   const blis_block_chain *own);

/* The request's chain for a block size; NULL = out of memory. */
const blis_block_chain *blis__chain_cache_get(blis__chain_cache *cache, uint32_t block_size);

/* Hands the chain over to the caller, who releases it to the namer. */
BLIS_MUSTUSE blis_status blis__chain_cache_take(blis__chain_cache *cache, uint32_t block_size,
                                                blis_block_chain *chain);

/* Ends the decision: chains that were not taken are released. */
void blis__chain_cache_end(blis__chain_cache *cache);

#endif
