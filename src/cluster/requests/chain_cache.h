/*
 * chain_cache.h - the block chains of the request in the current decision, one per block size in
 * use.
 *
 * Instances, prefix indexes, and scorers may use different block sizes. A chain is created at the
 * first query and kept until the decision is complete.
 */
#ifndef BLIS_CLUSTER_REQUESTS_CHAIN_CACHE_H
#define BLIS_CLUSTER_REQUESTS_CHAIN_CACHE_H

#include "base/pool.h"
#include "workload/block_namer.h"

typedef struct blis__chain_cache {
  blis_pool entries; /* one per requested block size, never freed */
  uint32_t count;
  blis_block_namer *namer;     /* borrowed */
  const blis_request *request; /* the request of the current decision */
  const blis_block_chain *own; /* chain with the private identities to use; or NULL */
} blis__chain_cache;

/* Copies *alloc, borrows namer; allocates nothing yet. */
void blis__chain_cache_init(blis__chain_cache *cache, const blis_alloc *alloc,
                            blis_block_namer *namer);
void blis__chain_cache_deinit(blis__chain_cache *cache);

/* Begins a decision about a request, which is borrowed until the end of the decision. */
void blis__chain_cache_begin(blis__chain_cache *cache, const blis_request *request);

/*
 * Begins another decision about a request that already has a chain. Both are borrowed until the end
 * of the decision. Private blocks have the identities in that chain. All requested chains must have
 * the same block size.
 */
void blis__chain_cache_begin_again(blis__chain_cache *cache, const blis_request *request,
                                   const blis_block_chain *own);

/* Returns the request's chain for a block size; NULL = out of memory. */
const blis_block_chain *blis__chain_cache_get(blis__chain_cache *cache, uint32_t block_size);

/* Transfers the chain to the caller, who must release it to the namer. */
BLIS_MUSTUSE blis_status blis__chain_cache_take(blis__chain_cache *cache, uint32_t block_size,
                                                blis_block_chain *chain);

/* Ends the decision and releases chains that were not taken. */
void blis__chain_cache_end(blis__chain_cache *cache);

#endif
