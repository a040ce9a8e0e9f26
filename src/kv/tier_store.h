/*
 * tier_store.h - what one tier below the KV cache holds: a set of block
 * identities of a fixed size, and who leaves it when it is full.
 *
 * A block is on its way here (incoming: it has its place, and nobody can read
 * it), there, or not. One that is being read is pinned. Neither incoming nor
 * pinned blocks are ever evicted, so that a store can have no room.
 *
 * Policies: lru, fifo; lfu, by uses since a block came, up to 12 of them, ties
 * by age; arc, the adaptive replacement of Megiddo and Modha (FAST 2003), which
 * remembers as many evicted identities as it has blocks; scored, where somebody
 * else gives every block a score and the lowest one leaves, ties by age.
 *
 * Main invariant: every identity has one entry, which is in one list (or, with
 * scores, in the heap as well); those of the lists that hold blocks are never
 * more than the capacity. Cost: O(1) for each operation and each pinned or
 * incoming block that is passed over for a victim; with scores O(log n). Memory
 * grows with what is stored.
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

/* A block that is there is used; with scores, it has this one from now on. */
void blis_tier_store_touch(blis_tier_store *store, blis_block_id id, double score);

/* How often a block that is known was used since it came, its coming included.
 */
int64_t blis_tier_store_uses(const blis_tier_store *store, blis_block_id id);

/* A block that is there is being read, once more; once less. */
void blis_tier_store_pin(blis_tier_store *store, blis_block_id id);
void blis_tier_store_unpin(blis_tier_store *store, blis_block_id id);

/*
 * A place for a block that is not known; it is incoming then. *evicted is the
 * block that has left for it, or BLIS_BLOCK_NONE. *is_done = false: there is no
 * room, and nothing has changed. score: for scores, any other policy ignores
 * it. BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis_tier_store_reserve(blis_tier_store *store, blis_block_id id,
                                                 double score, blis_block_id *evicted,
                                                 bool *is_done);

/* Who would leave for the next block, leaves now; BLIS_BLOCK_NONE = nobody can.
 */
blis_block_id blis_tier_store_evict(blis_tier_store *store);

/* An incoming block is there: the newest one. */
void blis_tier_store_commit(blis_tier_store *store, blis_block_id id);

/* An incoming block does not come. */
void blis_tier_store_abandon(blis_tier_store *store, blis_block_id id);

/* Everything is lost; nothing is pinned or incoming. */
void blis_tier_store_clear(blis_tier_store *store);

int64_t blis_tier_store_capacity(const blis_tier_store *store);

blis_tier_store_stats blis_tier_store_get_stats(const blis_tier_store *store);

/* Walks everything; true when all invariants hold. */
bool blis_tier_store_check(const blis_tier_store *store);

#endif
