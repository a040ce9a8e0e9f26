/*
 * prefix_index.h - a router's belief about each instance's KV cache: an LRU set
 * of block identities per instance.
 *
 * The router learns from its own decisions alone: what it sent to an instance
 * counts as cached there until newer blocks push it out. Real evictions are
 * never seen; that gap is what approximate prefix routing lives with.
 *
 * Semantics, block by block: observing a chain goes over its full blocks from
 * first to last; a block that is there becomes the most recent, another is
 * inserted as the most recent after the least recent one has made room.
 * Matching changes nothing. So the first block of a chain is always the oldest
 * of it, and a chain longer than the capacity loses its own head.
 *
 * Representation: blocks that have always been seen together, and were so when
 * they were named, lie in one node, shared by all instances, and every instance
 * keeps its LRU order of nodes. Since a chain always touches whole nodes in
 * order, an instance holds the end of a node: all of it, except for its least
 * recent one. Matching is one lookup per node of the chain and one pass over
 * the node's holders, observing one lookup and one relink per node, whatever
 * the number of blocks.
 *
 * Chains with the same private_base must be the same chain: one of a request.
 */
#ifndef BLIS_POLICY_MEMORY_PREFIX_INDEX_H
#define BLIS_POLICY_MEMORY_PREFIX_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/block_chain.h"
#include "base/error.h"

typedef struct blis_prefix_index blis_prefix_index;

/*
 * capacity_blocks >= 1 is per instance. Instances need not be announced.
 * Copies *alloc. NULL = out of memory.
 */
blis_prefix_index *blis_prefix_index_new(const blis_alloc *alloc, uint64_t capacity_blocks);

/* NULL is allowed. */
void blis_prefix_index_free(blis_prefix_index *index);

/*
 * blocks[i] = how many leading full blocks of the chain instance i holds, for
 * i < instance_count.
 */
void blis_prefix_index_match(const blis_prefix_index *index, const blis_block_chain *chain,
                             uint32_t *blocks, uint32_t instance_count);

/*
 * The same for blocks that are all 0, with a look at those instances alone that
 * hold some: lists these in few, which has room for all, and says how many.
 */
uint32_t blis_prefix_index_match_few(const blis_prefix_index *index, const blis_block_chain *chain,
                                     uint32_t *blocks, uint32_t instance_count, uint32_t *few);

/* The chain was sent to instance. BLIS_ERR_NOMEM leaves the index unchanged. */
BLIS_MUSTUSE blis_status blis_prefix_index_observe(blis_prefix_index *index,
                                                   const blis_block_chain *chain,
                                                   uint32_t instance);

/* The instance holds nothing any more: it has failed, or starts anew. */
void blis_prefix_index_forget(blis_prefix_index *index, uint32_t instance);

/* How many blocks an instance holds, <= capacity. */
uint64_t blis_prefix_index_size(const blis_prefix_index *index, uint32_t instance);

/* Walks everything, O(nodes); true when every invariant holds. */
bool blis_prefix_index_check(const blis_prefix_index *index);

#endif
