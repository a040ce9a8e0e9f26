/*
 * cpu_tier.h - KV blocks with a copy in CPU memory: an LRU set of block identities.
 *
 * Main invariant: the list from oldest to newest and the table contain the same identities, and
 * never more than the capacity. Every operation is O(1); memory grows with the number of stored
 * blocks.
 */
#ifndef BLIS_KV_CPU_TIER_H
#define BLIS_KV_CPU_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/block_chain.h"
#include "base/error.h"

typedef struct blis_cpu_tier_stats {
  int64_t blocks;    /* currently stored */
  int64_t saved;     /* total number stored so far */
  int64_t evictions; /* evicted for other blocks */
} blis_cpu_tier_stats;

typedef struct blis_cpu_tier blis_cpu_tier;

/*
 * capacity_blocks must be >= 1 and < 2^32 - 1; otherwise BLIS_ERR_INVALID. Copies *alloc. The
 * caller owns *tier.
 */
BLIS_MUSTUSE blis_status blis_cpu_tier_new(const blis_alloc *alloc, int64_t capacity_blocks,
                                           blis_cpu_tier **tier, blis_error *error);

/* NULL is allowed. */
void blis_cpu_tier_free(blis_cpu_tier *tier);

bool blis_cpu_tier_has(const blis_cpu_tier *tier, blis_block_id id);

/*
 * Makes id the newest entry and sets its stamp, a value of the caller's clock. Returns false, and
 * changes nothing, if the tier does not contain id.
 */
bool blis_cpu_tier_touch(blis_cpu_tier *tier, blis_block_id id, int64_t stamp);

/* Stores the stamp of the last touch or save. Returns false if the tier does not contain id. */
bool blis_cpu_tier_stamp(const blis_cpu_tier *tier, blis_block_id id, int64_t *stamp);

/* Touches id. Adds it first if the tier does not contain it. BLIS_ERR_NOMEM changes nothing. */
BLIS_MUSTUSE blis_status blis_cpu_tier_save(blis_cpu_tier *tier, blis_block_id id, int64_t stamp);

void blis_cpu_tier_get_stats(const blis_cpu_tier *tier, blis_cpu_tier_stats *stats);

/* Walks all entries. Returns whether every invariant holds. */
bool blis_cpu_tier_check(const blis_cpu_tier *tier);

#endif
