/*
 * group_cache.h - the KV blocks of a model with several KV groups.
 *
 * All groups of a layout (kv/layout.h) take their blocks from one block pool. The identity of a
 * block is the identity of the last chain block that it covers, marked with the number of its
 * group. All groups therefore share one prefix table.
 *
 * Follows the hybrid KV cache manager of vLLM (v1/core, late 2026): a sequence first returns the
 * blocks that its next token does not need. It then takes new blocks in all groups or in none.
 * Finally, its full blocks are added to the prefix table. Within a group, the deepest block is
 * returned first. Groups take and return blocks in their order in the layout.
 *
 * Main invariant: in each group, a holder has at most the blocks from blis_kv_group_first (of its
 * computed tokens) to blis_kv_group_end (of its stored tokens). Every operation is O(1) per block
 * and group that it touches.
 */
#ifndef BLIS_KV_GROUP_CACHE_H
#define BLIS_KV_GROUP_CACHE_H

#include "kv/block_pool.h"
#include "kv/layout.h"

/* Returns the mark of a group in the identities of its blocks. Group 0 has no mark. */
static inline blis_block_id blis_kv_group_mark(size_t group) {
  return (blis_block_id)group << 48;
}

/* The blocks of one sequence in one group. items[i] is the pool's number for block first + i of the
   group; BLIS_KV_NO_BLOCK if the sequence does not hold that block. */
typedef struct blis_group_blocks {
  blis_block_list blocks;
  int64_t first;
  int64_t named; /* the blocks before this index have been named */
} blis_group_blocks;

#define BLIS_KV_NO_BLOCK UINT32_MAX

/* The blocks of one sequence. Zero it before the first use. */
typedef struct blis_group_holder {
  blis_group_blocks *groups; /* NULL until the first allocation */
  size_t count;              /* number of groups */
  blis_block_list drafts;    /* states for drafted tokens */
  int64_t held;              /* blocks of the pool in all groups, drafts included */
} blis_group_holder;

/* A prefix that is cached in every group. Zero it before the first use. */
typedef struct blis_group_found {
  blis_block_list blocks; /* the blocks that a sequence of this length keeps, ordered by group */
  int64_t tokens;
} blis_group_found;

typedef struct blis_group_cache blis_group_cache;

/*
 * layout is copied and must have passed blis_kv_layout_check with identity_tokens. pool is
 * borrowed. In each group of states, a sequence has `drafts` additional states. NULL = out of
 * memory.
 */
blis_group_cache *blis_group_cache_new(const blis_alloc *alloc, const blis_kv_layout *layout,
                                       blis_block_pool *pool, int64_t identity_tokens,
                                       int64_t drafts);
/* NULL is allowed. */
void blis_group_cache_free(blis_group_cache *cache);

/* Frees the memory of a holder without blocks. */
void blis_group_holder_deinit(const blis_alloc *alloc, blis_group_holder *holder);

/*
 * Returns the length in tokens of the longest cached prefix, at most limit_tokens. It is a multiple
 * of blis_kv_layout_hit_tokens. With at_mark, uses the prefix table at the mark of its journal. Has
 * no side effects.
 */
int64_t blis_group_cache_count(const blis_group_cache *cache, const blis_block_chain *chain,
                               int64_t limit_tokens, bool at_mark);

/*
 * Finds the same prefix in the current table and stores it, with its blocks, in *found. BLIS_OK or
 * BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_group_cache_match(const blis_group_cache *cache,
                                                const blis_block_chain *chain, int64_t limit_tokens,
                                                blis_group_found *found);

/*
 * Stores tokens for holder up to span->end_tokens. The first computed_tokens tokens are already
 * computed (or were transferred from elsewhere). A holder without blocks claims the blocks of
 * *found (may be NULL) that the sequence still needs. Full blocks are added to the prefix table if
 * the span has a chain.
 *
 * *is_done is false if there are not enough free blocks. In this case, and after BLIS_ERR_NOMEM,
 * the only change is that blocks that the sequence no longer needs were returned.
 */
BLIS_MUSTUSE blis_status blis_group_cache_allocate(blis_group_cache *cache,
                                                   blis_group_holder *holder,
                                                   const blis_block_span *span,
                                                   int64_t computed_tokens,
                                                   const blis_group_found *found, bool *is_done);

/* Adds the full blocks of the first `tokens` tokens to the prefix table. */
BLIS_MUSTUSE blis_status blis_group_cache_name(blis_group_cache *cache, blis_group_holder *holder,
                                               const blis_block_chain *chain, int64_t tokens);

/* Returns the maximum number of free blocks that an allocation up to end_tokens takes for holder,
   which has computed_tokens computed tokens. */
int64_t blis_group_cache_need(const blis_group_cache *cache, const blis_group_holder *holder,
                              int64_t computed_tokens, int64_t end_tokens);

/* Returns the number of blocks that holder lacks for end_tokens tokens, without states. */
int64_t blis_group_cache_lacking(const blis_group_cache *cache, const blis_group_holder *holder,
                                 int64_t end_tokens);

/* Returns all blocks of holder to the pool. */
void blis_group_cache_release(blis_group_cache *cache, blis_group_holder *holder);

#endif
