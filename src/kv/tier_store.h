/*
 * tier_store.h - one KV cache tier: a set of block identities with a fixed capacity and an eviction
 * policy.
 *
 * A block is incoming (it has a reserved slot, but cannot be read yet), stored, or absent. A block
 * that is being read is pinned. Incoming and pinned blocks are never evicted, so a reservation can
 * fail.
 *
 * Policies are lru, fifo, lfu, arc, and scored. lfu counts the uses since a block was stored, up to
 * 12, and breaks ties by age. arc is the adaptive replacement cache of Megiddo and Modha (FAST
 * 2003), which remembers as many evicted identities as its capacity in blocks. With scored, the
 * caller sets a score per block. The block with the lowest score is evicted, and ties are broken by
 * age.
 *
 * Main invariant: every identity has one entry, which is in one list (and, with scores, also in the
 * heap). The lists of blocks never exceed the capacity in total. Cost: O(1) per operation, plus
 * O(1) per pinned or incoming block that is skipped in the search for a victim. With scores, an
 * operation is O(log n). Memory grows with the number of stored blocks.
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
  int64_t blocks; /* stored or incoming */
  int64_t incoming;
  int64_t pinned;
  int64_t peak;      /* peak of blocks */
  int64_t stored;    /* blocks stored so far */
  int64_t evictions; /* blocks evicted for others */
  int64_t removed;   /* blocks lost without eviction */
} blis_tier_store_stats;

typedef struct blis_tier_store blis_tier_store;

/* capacity_blocks is >= 1 and < 2^31. Copies *alloc. NULL = out of memory. */
blis_tier_store *blis_tier_store_new(const blis_alloc *alloc, int64_t capacity_blocks,
                                     blis_tier_policy policy);

/* NULL is allowed. */
void blis_tier_store_free(blis_tier_store *store);

/* Returns whether the block can be read. */
bool blis_tier_store_has(const blis_tier_store *store, blis_block_id id);

/* Returns whether the block is stored or incoming. */
bool blis_tier_store_knows(const blis_tier_store *store, blis_block_id id);

/* Records a use of a stored block; with scores, sets its score. */
void blis_tier_store_touch(blis_tier_store *store, blis_block_id id, double score);

/* Returns how often a block was used since it was stored. Storing it counts as a use. */
int64_t blis_tier_store_uses(const blis_tier_store *store, blis_block_id id);

/* Start and end a read of a stored block. A block may have several readers. */
void blis_tier_store_pin(blis_tier_store *store, blis_block_id id);
void blis_tier_store_unpin(blis_tier_store *store, blis_block_id id);

/*
 * Reserves a slot for an absent block, which becomes incoming. *evicted is the block that was
 * evicted for it, or BLIS_BLOCK_NONE. If no slot is available, *is_done is false and nothing is
 * changed. score is used only by policy scored. BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis_tier_store_reserve(blis_tier_store *store, blis_block_id id,
                                                 double score, blis_block_id *evicted,
                                                 bool *is_done);

/* Evicts the next victim now; BLIS_BLOCK_NONE = no block can be evicted. */
blis_block_id blis_tier_store_evict(blis_tier_store *store);

/* Makes an incoming block readable. It becomes the newest block. */
void blis_tier_store_commit(blis_tier_store *store, blis_block_id id);

/* Cancels an incoming block. */
void blis_tier_store_abandon(blis_tier_store *store, blis_block_id id);

/* Removes all blocks. None may be pinned or incoming. */
void blis_tier_store_clear(blis_tier_store *store);

int64_t blis_tier_store_capacity(const blis_tier_store *store);

blis_tier_store_stats blis_tier_store_get_stats(const blis_tier_store *store);

/* Walks all entries. Returns whether every invariant holds. */
bool blis_tier_store_check(const blis_tier_store *store);

#endif
