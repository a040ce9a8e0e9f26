/*
 * block_pool.h - the KV blocks of one engine: owners, free blocks and reusable
 * prefixes.
 *
 * Follows the single-tier cache of BLIS (Go, inference-sim f90a1e3a), which follows
 * the block pool of vLLM v1. A full block keeps its identity when it is freed,
 * until the block is reused. Free blocks are reused from the head of a list. Freed
 * blocks are appended to its tail, the deepest block of a request first.
 *
 * Main invariant: free blocks + referenced blocks = all blocks, and every entry of
 * the prefix table leads to a full block with that identity. Two blocks may have
 * the same identity; the table contains the one registered last, and drops it when
 * either of them is reused.
 *
 * Every operation is O(1) a block. Nothing is allocated per operation once the
 * lists of the holders and the table have grown.
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

/* Numbers of blocks, 0 .. blocks - 1. Zero it first; free it with
   blis_array_deinit and the allocator of the pool. */
typedef BLIS_ARRAY(uint32_t) blis_block_list;

/*
 * What to store: tokens [start, end) of a request. Tokens before
 * prompt_tokens are its prompt, later ones its output. The span lies wholly
 * in the prompt (and may be empty) or is a single output token; in a pool that
 * keeps shared blocks only, it may be anything.
 */
typedef struct blis_block_span {
  const blis_block_chain *chain; /* NULL = its blocks get no names yet */
  int64_t prompt_tokens;
  int64_t start_tokens;
  int64_t end_tokens;
} blis_block_span;

typedef struct blis_block_pool_stats {
  int64_t blocks;
  int64_t free_blocks; /* not referenced, whether findable or not */
  int64_t references;  /* sum of the lengths of all holders' lists */
  int64_t hits;        /* found blocks that were claimed */
  int64_t misses;      /* blocks taken for new content, output included */
  int64_t evictions;   /* blocks that could be found and were taken for new content */
} blis_block_pool_stats;

/* A receiver of the changes of a prefix table; both functions are set. */
typedef struct blis_block_listener {
  void *ud;
  /* A match finds this identity from now on, and did not before. */
  void (*stored)(void *ud, blis_block_id id);
  /* A match finds it no longer: its space is reused, or the cache is emptied. */
  void (*removed)(void *ud, blis_block_id id);
} blis_block_listener;

typedef struct blis_block_pool blis_block_pool;

/*
 * blocks and block_size_tokens are >= 1 and < 2^32 - 1; BLIS_ERR_INVALID names the
 * wrong one. Copies *alloc. The caller owns *pool.
 */
BLIS_MUSTUSE blis_status blis_block_pool_new(const blis_alloc *alloc, int64_t blocks,
                                             int64_t block_size_tokens, blis_block_pool **pool,
                                             blis_error *error);

/*
 * Keeps only sharable blocks: the blocks of prompts with shared identities. Other
 * blocks get no names and are free as soon as they are returned. They are evicted
 * before all kept blocks, which are evicted in LRU order (RouteSim: eviction in two
 * passes). Call it before the pool is used.
 */
void blis_block_pool_keep_shared_only(blis_block_pool *pool);

/*
 * Gives names to new blocks that output fills at once, as real engines do: blocks
 * of one token, or of a burst of drafted tokens. Call it before the pool is used.
 */
void blis_block_pool_name_whole_blocks(blis_block_pool *pool);

/* NULL is allowed. Holders' lists are freed by their owners. */
void blis_block_pool_free(blis_block_pool *pool);

/* Number of leading full blocks of the prompt that can be found. Pure. */
uint32_t blis_block_pool_count_cached(const blis_block_pool *pool, const blis_block_chain *chain);

/*
 * Records every later change of the prefix table in journal; borrowed. Set it while
 * the table is in the state of the journal's mark.
 */
void blis_block_pool_set_journal(blis_block_pool *pool, blis_block_journal *journal);

/*
 * Calls evicted(ud, identity) for every block that can no longer be found, because
 * its space is reused for another one. NULL = no listener.
 */
void blis_block_pool_hear(blis_block_pool *pool, void (*evicted)(void *ud, blis_block_id id),
                          void *ud);

/* Reports every later change of the prefix table, in order; borrowed. NULL = no listener. */
void blis_block_pool_listen(blis_block_pool *pool, const blis_block_listener *listener);

/* Like count_cached, for the table at that mark. */
uint32_t blis_block_pool_count_at_mark(const blis_block_pool *pool, const blis_block_chain *chain);

/* The blocks that count_cached counts, in *found. BLIS_OK or BLIS_ERR_NOMEM.
   Pure. */
BLIS_MUSTUSE blis_status blis_block_pool_match(const blis_block_pool *pool,
                                               const blis_block_chain *chain,
                                               blis_block_list *found);

/*
 * Stores *span for holder (a request's list, initially empty). A holder without
 * blocks first claims the blocks of *cached (may be NULL), as returned by match; in
 * this case span starts after them. An empty span claims nothing.
 *
 * *is_done is false, and nothing is changed, if the free blocks do not suffice for
 * the new ones and the claimed ones. BLIS_ERR_NOMEM changes nothing either.
 */
BLIS_MUSTUSE blis_status blis_block_pool_allocate(blis_block_pool *pool, blis_block_list *holder,
                                                  const blis_block_span *span,
                                                  const blis_block_list *cached, bool *is_done);

/*
 * Adds the full blocks among the first blocks of holder to the prefix table. They
 * were stored without names. BLIS_OK, or BLIS_ERR_NOMEM, which changes nothing.
 */
BLIS_MUSTUSE blis_status blis_block_pool_name(blis_block_pool *pool, const blis_block_list *holder,
                                              const blis_block_chain *chain);

/* Returns all blocks of holder, the last one first, and empties its list. */
void blis_block_pool_release(blis_block_pool *pool, blis_block_list *holder);

/*
 * Returns blocks that only holder has and that have no names, in the order in which
 * they were taken: they are the next to be taken again.
 */
void blis_block_pool_put_back(blis_block_pool *pool, blis_block_list *holder);

/*
 * Removes free cached blocks from the prefix table; requests that hold blocks keep
 * them with their identities.
 */
void blis_block_pool_forget(blis_block_pool *pool);

/* Blocks without a reference. */
int64_t blis_block_pool_free_blocks(const blis_block_pool *pool);

void blis_block_pool_get_stats(const blis_block_pool *pool, blis_block_pool_stats *stats);

/* Walks everything; returns true if all invariants hold. */
bool blis_block_pool_check(const blis_block_pool *pool);

/*
 * The identity of the full block with tokens [start, start + block size) that
 * follows the block called previous (BLIS_BLOCK_NONE for none or a nameless one).
 * If the block continues the chain, it is the chain's own identity. Otherwise, for
 * example for the output of a request whose fully cached prompt holds no blocks, it
 * is mixed from previous and content: equal if these are equal, marked
 * BLIS_BLOCK_OFF_CHAIN, and never found by a match.
 */
blis_block_id blis__block_identity(blis_block_id previous, const blis_block_chain *chain,
                                   int64_t start_tokens, int64_t block_size_tokens);

/* The rest is for kv_cache.c, which adds a second tier to the pool. */

/* Identity of a block, BLIS_BLOCK_NONE unless it is full and registered. */
blis_block_id blis__block_pool_identity_of(const blis_block_pool *pool, uint32_t block);

/* True when a match would find this identity. */
bool blis__block_pool_has(const blis_block_pool *pool, blis_block_id id);

/* How many blocks must be taken to store this many tokens for holder. */
int64_t blis__block_pool_new_blocks(const blis_block_pool *pool, const blis_block_list *holder,
                                    int64_t tokens);

/* How many of these blocks have no reference. */
int64_t blis__block_pool_count_idle(const blis_block_pool *pool, const blis_block_list *blocks);

/*
 * Makes sure that holder can take this many more blocks, and the table as
 * many identities, without an allocation. BLIS_OK or BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis__block_pool_reserve(blis_block_pool *pool, blis_block_list *holder,
                                                  int64_t blocks);

/* holder, with reserved capacity, references these blocks; each is a hit. */
void blis__block_pool_claim(blis_block_pool *pool, blis_block_list *holder, const uint32_t *blocks,
                            size_t count);

/*
 * The next free block gets the full content called id, is registered, and
 * goes to the tail of the free list. There must be a free block.
 * BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis__block_pool_restore(blis_block_pool *pool, blis_block_id id);

/* The rest is for group_cache.c, which decides itself which blocks a sequence keeps. */

/* The block that a match would find under this identity; false = none. */
bool blis__block_pool_find(const blis_block_pool *pool, blis_block_id id, uint32_t *block);

/* True when a match would have found this identity at the mark of the journal. */
bool blis__block_pool_had(const blis_block_pool *pool, blis_block_id id);

/* Takes the next free block, with one reference. There must be a free block. */
uint32_t blis__block_pool_take(blis_block_pool *pool);

/* Takes one reference back. Without references, a block is the last free one. */
void blis__block_pool_give(blis_block_pool *pool, uint32_t block);

/* Reserves space in the table for this number of additional names. BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__block_pool_reserve_names(blis_block_pool *pool, int64_t names);

/* Adds a full block, which has no name and a reference, to the table under id. The table has
   reserved capacity. */
void blis__block_pool_register(blis_block_pool *pool, uint32_t block, blis_block_id id);

#endif
