/*
 * block_pool.h - the KV blocks of one engine: holders, free blocks, and reusable prefixes.
 *
 * Follows the single-tier cache of BLIS (Go, inference-sim f90a1e3a), which follows
 * the block pool of vLLM v1. A full block keeps its identity when it is freed,
 * until the block is reused. Free blocks are reused from the head of a list. Freed
 * blocks are appended to its tail, the deepest block of a request first.
 *
 * Main invariant: free blocks + referenced blocks = all blocks, and every entry of the prefix table
 * refers to a full block with that identity. Two blocks may have the same identity; the table then
 * refers to the block that was registered last. The entry is removed when either of them is reused.
 *
 * Every operation is O(1) per block. Operations allocate memory only while the holders' lists and
 * the table grow.
 */
#ifndef BLIS_KV_BLOCK_POOL_H
#define BLIS_KV_BLOCK_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/block_chain.h"
#include "base/error.h"
#include "kv/block_journal.h"

/* Block numbers, 0 .. blocks - 1. Zero it before the first use. Free it with blis_array_deinit and
   the allocator of the pool. */
typedef BLIS_ARRAY(uint32_t) blis_block_list;

/*
 * What to store: tokens [start, end) of a request. Tokens before prompt_tokens are the prompt;
 * later tokens are output. The span is part of the prompt (and may be empty) or a single output
 * token. A pool that keeps only shared blocks accepts any span.
 */
typedef struct blis_block_span {
  const blis_block_chain *chain; /* NULL = the blocks get no names yet */
  int64_t prompt_tokens;
  int64_t start_tokens;
  int64_t end_tokens;
} blis_block_span;

typedef struct blis_block_pool_stats {
  int64_t blocks;
  int64_t free_blocks; /* blocks without references, with or without a table entry */
  int64_t references;  /* sum of the lengths of all holders' lists */
  int64_t hits;        /* cached blocks that were claimed */
  int64_t misses;      /* blocks taken for new content, output included */
  int64_t evictions;   /* cached blocks that were taken for new content */
} blis_block_pool_stats;

/* Receives the changes of a prefix table. Both functions must be set. */
typedef struct blis_block_listener {
  void *ud;
  /* Called when a match can find this identity and could not find it before. */
  void (*stored)(void *ud, blis_block_id id);
  /*
   * Called when a match can no longer find it, because its space is reused or the cache is emptied.
   */
  void (*removed)(void *ud, blis_block_id id);
} blis_block_listener;

typedef struct blis_block_pool blis_block_pool;

/*
 * blocks and block_size_tokens are >= 1 and < 2^32 - 1; BLIS_ERR_INVALID names the invalid
 * argument. Copies *alloc. The caller owns *pool.
 */
BLIS_MUSTUSE blis_status blis_block_pool_new(const blis_alloc *alloc, int64_t blocks,
                                             int64_t block_size_tokens, blis_block_pool **pool,
                                             blis_error *error);

/*
 * Caches only sharable blocks: blocks of prompts with shared identities. Other blocks get no names,
 * and their content is lost when they are returned. They are reused before all cached blocks, which
 * are evicted in LRU order (RouteSim: eviction in two passes). Call it before the pool is used.
 */
void blis_block_pool_keep_shared_only(blis_block_pool *pool);

/*
 * Gives names to new blocks that output fills in one step, as real engines do. Such blocks have a
 * size of one token, or are filled by several drafted tokens. Call it before the pool is used.
 */
void blis_block_pool_name_whole_blocks(blis_block_pool *pool);

/* NULL is allowed. Holders' lists are freed by their owners. */
void blis_block_pool_free(blis_block_pool *pool);

/* Returns the number of leading full blocks of the prompt that are cached. Has no side effects. */
uint32_t blis_block_pool_count_cached(const blis_block_pool *pool, const blis_block_chain *chain);

/*
 * Records all later changes to the prefix table in journal, which is borrowed. Call this while the
 * table is in the state of the journal's mark.
 */
void blis_block_pool_set_journal(blis_block_pool *pool, blis_block_journal *journal);

/*
 * Calls evicted(ud, identity) for every cached block that is evicted because its space is reused.
 * NULL = no listener.
 */
void blis_block_pool_hear(blis_block_pool *pool, void (*evicted)(void *ud, blis_block_id id),
                          void *ud);

/*
 * Reports all later changes of the prefix table to listener, in order. It is borrowed; NULL = no
 * listener.
 */
void blis_block_pool_listen(blis_block_pool *pool, const blis_block_listener *listener);

/* Like blis_block_pool_count_cached, for the table at the journal's mark. */
uint32_t blis_block_pool_count_at_mark(const blis_block_pool *pool, const blis_block_chain *chain);

/* Stores the blocks counted by blis_block_pool_count_cached in *found. BLIS_OK or BLIS_ERR_NOMEM.
   Does not change the pool. */
BLIS_MUSTUSE blis_status blis_block_pool_match(const blis_block_pool *pool,
                                               const blis_block_chain *chain,
                                               blis_block_list *found);

/*
 * Stores *span for holder (a request's list, initially empty). A holder without blocks first claims
 * the blocks of *cached (may be NULL), as stored by blis_block_pool_match. In this case, span
 * starts after them. An empty span claims nothing.
 *
 * *is_done is false, and nothing is changed, if there are not enough free blocks for the new and
 * the claimed blocks. BLIS_ERR_NOMEM also changes nothing.
 */
BLIS_MUSTUSE blis_status blis_block_pool_allocate(blis_block_pool *pool, blis_block_list *holder,
                                                  const blis_block_span *span,
                                                  const blis_block_list *cached, bool *is_done);

/*
 * Adds the leading full blocks of holder, which were stored without names, to the prefix table.
 * BLIS_OK, or BLIS_ERR_NOMEM, which changes nothing.
 */
BLIS_MUSTUSE blis_status blis_block_pool_name(blis_block_pool *pool, const blis_block_list *holder,
                                              const blis_block_chain *chain);

/* Returns all blocks of holder to the pool, the last one first, and empties its list. */
void blis_block_pool_release(blis_block_pool *pool, blis_block_list *holder);

/*
 * Returns the blocks of holder, which must have no names and no other holder, to the head of the
 * free list. They are taken again next, in the same order.
 */
void blis_block_pool_put_back(blis_block_pool *pool, blis_block_list *holder);

/*
 * Removes free cached blocks from the prefix table. Blocks that requests hold keep their
 * identities.
 */
void blis_block_pool_forget(blis_block_pool *pool);

/* Returns the number of blocks without a reference. */
int64_t blis_block_pool_free_blocks(const blis_block_pool *pool);

void blis_block_pool_get_stats(const blis_block_pool *pool, blis_block_pool_stats *stats);

/* Walks all blocks. Returns whether every invariant holds. */
bool blis_block_pool_check(const blis_block_pool *pool);

/*
 * Returns the identity of the full block with tokens [start, start + block size). previous is the
 * identity of the block before it (BLIS_BLOCK_NONE if there is none or it has no name). If the
 * block continues the chain, the result is its identity in the chain. Otherwise, the result is a
 * hash of previous and the content, marked BLIS_BLOCK_OFF_CHAIN. This happens, for example, for the
 * output of a request whose fully cached prompt holds no blocks. A match never finds such an
 * identity.
 */
blis_block_id blis__block_identity(blis_block_id previous, const blis_block_chain *chain,
                                   int64_t start_tokens, int64_t block_size_tokens);

/* The rest is for kv_cache.c, which adds a second tier to the pool. */

/* Returns the identity of a block; BLIS_BLOCK_NONE unless it is full and registered. */
blis_block_id blis__block_pool_identity_of(const blis_block_pool *pool, uint32_t block);

/* Returns whether a match would find this identity. */
bool blis__block_pool_has(const blis_block_pool *pool, blis_block_id id);

/* Returns how many blocks must be taken to store this many tokens for holder. */
int64_t blis__block_pool_new_blocks(const blis_block_pool *pool, const blis_block_list *holder,
                                    int64_t tokens);

/* Returns how many of these blocks have no reference. */
int64_t blis__block_pool_count_idle(const blis_block_pool *pool, const blis_block_list *blocks);

/*
 * Reserves memory for this many more blocks in holder and this many more identities in the table.
 * BLIS_OK or BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis__block_pool_reserve(blis_block_pool *pool, blis_block_list *holder,
                                                  int64_t blocks);

/*
 * Adds references from holder, which has reserved capacity, to these blocks. Each block counts as a
 * hit.
 */
void blis__block_pool_claim(blis_block_pool *pool, blis_block_list *holder, const uint32_t *blocks,
                            size_t count);

/*
 * Fills the next free block with the content identified by id, registers it, and moves it to the
 * tail of the free list. There must be a free block. BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis__block_pool_restore(blis_block_pool *pool, blis_block_id id);

/* The rest is for group_cache.c, which decides which blocks a sequence keeps. */

/* Stores the block that a match would find for this identity. Returns false if there is none. */
bool blis__block_pool_find(const blis_block_pool *pool, blis_block_id id, uint32_t *block);

/* Returns whether a match would have found this identity at the mark of the journal. */
bool blis__block_pool_had(const blis_block_pool *pool, blis_block_id id);

/* Takes the next free block and gives it one reference. There must be a free block. */
uint32_t blis__block_pool_take(blis_block_pool *pool);

/* Removes one reference. A block without references moves to the tail of the free list. */
void blis__block_pool_give(blis_block_pool *pool, uint32_t block);

/* Reserves space in the table for this number of additional names. BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__block_pool_reserve_names(blis_block_pool *pool, int64_t names);

/* Adds a full block, which has a reference and no name, to the table with identity id. The table
   must have reserved capacity. */
void blis__block_pool_register(blis_block_pool *pool, uint32_t block, blis_block_id id);

#endif
