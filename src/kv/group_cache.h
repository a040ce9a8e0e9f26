/*
 * group_cache.h - the blocks of a model with several KV groups, block by block.
 *
 * All groups of a layout (kv/layout.h) take their blocks from one block pool. A
 * block of a group has the identity of the last chain block that it covers,
 * marked with the number of the group, so the groups share one prefix table.
 *
 * Follows the hybrid KV cache manager of vLLM (v1/core, late 2026): a sequence
 * first returns the blocks that its next token does not need, then takes new
 * blocks in all groups or in none, then its full blocks become findable.
 * Within a group, the deepest block returns first; groups take and return
 * blocks in their order in the layout.
 *
 * Main invariant: a holder has at most the blocks from blis_kv_group_first of
 * its computed tokens to blis_kv_group_end of its stored tokens. Every operation
 * is O(1) per block and group that it touches.
 */
#ifndef BLIS_KV_GROUP_CACHE_H
#define BLIS_KV_GROUP_CACHE_H

#include "kv/block_pool.h"
#include "kv/layout.h"

/* Mark of the group in the identities of its blocks. Group 0 has no mark. */
static inline blis_block_id blis_kv_group_mark(size_t group) {
  return (blis_block_id)group << 48;
}

/* Blocks of one group of one sequence: block first + i of the group is items[i]
   of the pool, BLIS_KV_NO_BLOCK if the sequence does not hold it. */
typedef struct blis_group_blocks {
  blis_block_list blocks;
  int64_t first;
  int64_t named; /* the blocks before this index have been named */
} blis_group_blocks;

#define BLIS_KV_NO_BLOCK UINT32_MAX

/* The blocks of one sequence. Zero it before the first use. */
typedef struct blis_group_holder {
  blis_group_blocks *groups; /* NULL until the first allocation */
  size_t count;              /* of groups */
  blis_block_list drafts;    /* states for drafted tokens */
  int64_t held;              /* blocks of the pool in all groups, drafts included */
} blis_group_holder;

/* A prefix that is cached in every group. Zero it before the first use. */
typedef struct blis_group_found {
  blis_block_list blocks; /* blocks that a sequence of that length keeps, group by group */
  int64_t tokens;
} blis_group_found;

typedef struct blis_group_cache blis_group_cache;

/*
 * layout has passed blis_kv_layout_check with identity_tokens and is copied; pool is
 * borrowed. A sequence has drafts more states in each group of states. NULL = out of
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
 * Tokens of the longest cached prefix of at most limit_tokens tokens: a multiple of
 * blis_kv_layout_hit_tokens. With at_mark, of the prefix table at the mark of its
 * journal. Pure.
 */
int64_t blis_group_cache_count(const blis_group_cache *cache, const blis_block_chain *chain,
                               int64_t limit_tokens, bool at_mark);

/* The same, with the blocks. BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis_group_cache_match(const blis_group_cache *cache,
                                                const blis_block_chain *chain, int64_t limit_tokens,
                                                blis_group_found *found);

/*
 * Stores tokens for holder up to span->end_tokens; computed_tokens of them are
 * computed (or come from elsewhere). A holder without blocks claims the blocks of
 * *found (may be NULL) that the sequence still needs. Full blocks are added to the
 * prefix table if the span has a chain.
 *
 * *is_done is false if the free blocks do not suffice. In this case, as after
 * BLIS_ERR_NOMEM, only the blocks that the sequence no longer needs have returned.
 */
BLIS_MUSTUSE blis_status blis_group_cache_allocate(blis_group_cache *cache,
                                                   blis_group_holder *holder,
                                                   const blis_block_span *span,
                                                   int64_t computed_tokens,
                                                   const blis_group_found *found, bool *is_done);

/* The full blocks of the first tokens tokens become findable. */
BLIS_MUSTUSE blis_status blis_group_cache_name(blis_group_cache *cache, blis_group_holder *holder,
                                               const blis_block_chain *chain, int64_t tokens);

/* Most free blocks that an allocation up to end_tokens takes for holder, which has
   computed_tokens of them. */
int64_t blis_group_cache_need(const blis_group_cache *cache, const blis_group_holder *holder,
                              int64_t computed_tokens, int64_t end_tokens);

/* Blocks that holder lacks for end_tokens tokens; states excluded. */
int64_t blis_group_cache_lacking(const blis_group_cache *cache, const blis_group_holder *holder,
                                 int64_t end_tokens);

/* Returns all blocks of holder. */
void blis_group_cache_release(blis_group_cache *cache, blis_group_holder *holder);

#endif
