/*
 * tier_store.h - one KV cache tier: a set of block identities of a fixed size, and
 * its eviction policy.
 *
 * A block is incoming (it has a place, but cannot be read yet), stored, or absent.
 * A block that is being read is pinned. Incoming and pinned blocks are never
 * evicted, so a reservation can fail.
 *
 * Policies are lru, fifo, lfu, arc, and scored. lfu counts uses since a block was
 * stored, up to 12, ties by age. arc is the adaptive replacement of Megiddo and
 * Modha (FAST 2003), which remembers as many evicted identities as it has blocks.
 * With scored, the caller sets a score per block and the lowest score is evicted,
 * ties by age.
 *
 * Main invariant: every identity has one entry, which is in one list (or, with
 * scores, in the heap as well); the lists that hold blocks never exceed the
 * capacity. Cost: O(1) for each operation and each pinned or incoming block that is
 * skipped in the search of a victim; with scores O(log n). Memory grows with the
 * number of stored blocks.
 */
#ifndef BLIS_KV_TIER_STORE_H
#define BLIS_KV_TIER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/block_chain.h"
#include "base/error.h"

typedef enum blis_tier_policy {
  BLIS_TIER_LRU,
  BLIS_TIER_FIFO,
  BLIS_TIER_LFU,
  BLIS_TIER_ARC,
  BLIS_TIER_SCORED,
  BLIS_TIER_POLICY_COUNT
} blis_tier_policy;

typedef struct blis_tier_store_stats {
  int64_t blocks; /* there, or incoming */
  int64_t incoming;
  int64_t pinned;
  int64_t peak;      /* of blocks */
  int64_t stored;    /* that have come, ever */
  int64_t evictions; /* that have left for others */
  int64_t removed;   /* that were lost */
} blis_tier_store_stats;

typedef struct blis_tier_store blis_tier_store;

/* capacity_blocks is >= 1 and < 2^31. Copies *alloc. NULL = out of memory. */
blis_tier_store *blis_tier_store_new(const blis_alloc *alloc, int64_t capacity_blocks,
                                     blis_tier_policy policy);

/* NULL is allowed. */
void blis_tier_store_free(blis_tier_store *store);

/* It can be read. */
bool blis_tier_store_has(const blis_tier_store *store, blis_block_id id);

/* It can be read, or will be. */
bool blis_tier_store_knows(const blis_tier_store *store, blis_block_id id);

/* Records a use of a stored block; with scores, sets its score. */
void blis_tier_store_touch(blis_tier_store *store, blis_block_id id, double score);

/* How often a stored block was used since it was stored, including the store itself. */
int64_t blis_tier_store_uses(const blis_tier_store *store, blis_block_id id);

/* A block that is there is being read, once more; once less. */
void blis_tier_store_pin(blis_tier_store *store, blis_block_id id);
void blis_tier_store_unpin(blis_tier_store *store, blis_block_id id);

/*
 * Reserves a place for an unknown block, which becomes incoming. *evicted is the
 * block that was evicted for it, or BLIS_BLOCK_NONE. *is_done = false: there is no
 * place, and nothing has changed. score is used only by policy scored.
 * BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis_tier_store_reserve(blis_tier_store *store, blis_block_id id,
                                                 double score, blis_block_id *evicted,
                                                 bool *is_done);

/* Evicts the next victim now; BLIS_BLOCK_NONE = no block can be evicted. */
blis_block_id blis_tier_store_evict(blis_tier_store *store);

/* Makes an incoming block readable and the newest. */
void blis_tier_store_commit(blis_tier_store *store, blis_block_id id);

/* An incoming block does not come. */
void blis_tier_store_abandon(blis_tier_store *store, blis_block_id id);

/* Everything is lost; nothing is pinned or incoming. */
void blis_tier_store_clear(blis_tier_store *store);

int64_t blis_tier_store_capacity(const blis_tier_store *store);

blis_tier_store_stats blis_tier_store_get_stats(const blis_tier_store *store);

/* Walks everything; returns true if all invariants hold. */
bool blis_tier_store_check(const blis_tier_store *store);

#endif
