/*
 * prefix_index.h - a router's prediction of each instance's KV cache: an LRU set of block ids per
 * instance.
 *
 * The router uses only its own decisions: blocks that it sent to an instance count as cached there
 * until newer blocks displace them. It never observes real evictions; approximate prefix routing
 * accepts this error.
 *
 * Semantics, block by block: observing a chain visits its full blocks from first to last. An
 * existing block becomes the most recent, a new block is inserted as the most recent, after the
 * least recent block is evicted if necessary. Matching changes nothing. The first block of a chain
 * is therefore always its oldest, and a chain longer than the capacity evicts its own head.
 *
 * Representation: blocks that have always appeared together are stored in one node, which all
 * instances share. Every instance has its own LRU order of nodes. Since a chain always touches
 * whole nodes in order, an instance holds whole nodes, except for its least recent node, of which
 * it may hold only the end. Matching takes one lookup per node of the chain and one pass over the
 * node's holders. Observing takes one lookup and one relink per node. Neither depends on the number
 * of blocks.
 *
 * Chains with the same private_base must be the same chain, which belongs to one request.
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
 * capacity_blocks >= 1 is per instance. Instances need not be registered. Copies *alloc. NULL = out
 * of memory.
 */
blis_prefix_index *blis_prefix_index_new(const blis_alloc *alloc, uint64_t capacity_blocks);

/* Frees an index; NULL is allowed. */
void blis_prefix_index_free(blis_prefix_index *index);

/*
 * Sets blocks[i] to the number of leading full blocks of the chain that instance i holds, for i <
 * instance_count.
 */
void blis_prefix_index_match(const blis_prefix_index *index, const blis_block_chain *chain,
                             uint32_t *blocks, uint32_t instance_count);

/*
 * Like blis_prefix_index_match, but requires that all blocks are 0, and visits only the instances
 * with matches. Lists these instances in few, which has capacity for all, and returns their number.
 */
uint32_t blis_prefix_index_match_few(const blis_prefix_index *index, const blis_block_chain *chain,
                                     uint32_t *blocks, uint32_t instance_count, uint32_t *few);

/* Records that the chain was sent to instance. BLIS_ERR_NOMEM leaves the index unchanged. */
BLIS_MUSTUSE blis_status blis_prefix_index_observe(blis_prefix_index *index,
                                                   const blis_block_chain *chain,
                                                   uint32_t instance);

/* Clears the contents of an instance that failed or restarts. */
void blis_prefix_index_forget(blis_prefix_index *index, uint32_t instance);

/* Returns the number of blocks of an instance, <= capacity. */
uint64_t blis_prefix_index_size(const blis_prefix_index *index, uint32_t instance);

/* Checks the whole index in O(nodes); returns true if every invariant holds. */
bool blis_prefix_index_check(const blis_prefix_index *index);

#endif
