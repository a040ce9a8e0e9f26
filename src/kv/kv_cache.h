/*
 * kv_cache.h - the KV cache of one engine: a pool of GPU blocks and, if configured,
 * copies in CPU memory.
 *
 * Follows BLIS (Go, inference-sim f90a1e3a). With a CPU tier, every full block of a running request
 * is saved in every step. An allocation first reloads the prompt blocks that are no longer in the
 * pool but still in the tier. The transfer time is added to the step.
 *
 * match, allocate, and release can be used without an engine. Costs are those of block_pool.h and
 * cpu_tier.h: O(1) per block.
 */
#ifndef BLIS_KV_KV_CACHE_H
#define BLIS_KV_KV_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/block_chain.h"
#include "base/error.h"
#include "kv/block_pool.h"

typedef struct blis_kv_cache_config {
  int64_t blocks;            /* >= 1 */
  int64_t block_size_tokens; /* >= 1 */
  int64_t cpu_blocks;        /* 0 = no CPU tier */
  /*
   * Reloading a block takes base + ceil(block size / bandwidth). With pays_base_once, reloading the
   * n blocks of an allocation takes base + ceil(n * block size / bandwidth) in total.
   */
  double cpu_bandwidth_tokens_per_us; /* > 0 with a tier */
  int64_t cpu_base_latency_us;        /* >= 0 */
  bool pays_base_once;
  /* Blocks are saved while at least this fraction (0 to 1) of the GPU's blocks is in use. */
  double offload_threshold;
  /*
   * As in BLIS (Go): if an allocation fails, the request keeps the reloaded blocks that were
   * claimed for it, although the request continues to wait.
   */
  bool keeps_failed_claims;
  /*
   * Blocks that no other request can share are not cached (block_pool.h). Not allowed with a CPU
   * tier.
   */
  bool keeps_shared_only;
  bool names_whole_blocks; /* blis_block_pool_name_whole_blocks */
} blis_kv_cache_config;

typedef struct blis_kv_cache_stats {
  int64_t blocks;
  int64_t free_blocks; /* blocks without references, with or without a table entry */
  int64_t references;  /* sum of the lengths of all holders' lists */
  int64_t hits;        /* cached blocks that were claimed */
  int64_t misses;      /* blocks taken for new content, output included */
  int64_t cpu_blocks;  /* currently stored in the CPU tier */
  int64_t cpu_reloads; /* blocks loaded from the CPU tier */
  /*
   * Subset of cpu_reloads: since a request last held the block, the pool has evicted fewer blocks
   * than its size. An LRU cache of twice the size would still contain the block.
   */
  int64_t cpu_immediate_reloads;
  int64_t cpu_misses; /* allocations that failed without any block to reload */
  int64_t cpu_saved;
  int64_t cpu_evictions;
  int64_t cpu_transfers;   /* allocations that loaded blocks from the CPU tier */
  int64_t cpu_transfer_us; /* total time of these transfers */
} blis_kv_cache_stats;

typedef struct blis_kv_cache blis_kv_cache;

/*
 * BLIS_ERR_INVALID names the field, its value, and the allowed values. Copies
 * *alloc and *config. The caller owns *cache.
 */
BLIS_MUSTUSE blis_status blis_kv_cache_new(const blis_alloc *alloc,
                                           const blis_kv_cache_config *config,
                                           blis_kv_cache **cache, blis_error *error);

/* NULL is allowed. Holders' lists are freed by their owners. */
void blis_kv_cache_free(blis_kv_cache *cache);

/*
 * Returns the number of leading full blocks of the prompt that are cached on the GPU. Has no side
 * effects.
 */
uint32_t blis_kv_cache_count_cached(const blis_kv_cache *cache, const blis_block_chain *chain);

/* Like blis_block_pool_set_journal; the journal ignores the CPU tier. */
void blis_kv_cache_set_journal(blis_kv_cache *cache, blis_block_journal *journal);
/* Like blis_block_pool_hear. */
void blis_kv_cache_hear(blis_kv_cache *cache, void (*evicted)(void *ud, blis_block_id id),
                        void *ud);
/* Like blis_block_pool_listen; ignores the CPU tier. */
void blis_kv_cache_listen(blis_kv_cache *cache, const blis_block_listener *listener);
uint32_t blis_kv_cache_count_at_mark(const blis_kv_cache *cache, const blis_block_chain *chain);

/*
 * Stores the blocks counted by blis_kv_cache_count_cached in *found, for an allocation. Does not
 * change the cache.
 */
BLIS_MUSTUSE blis_status blis_kv_cache_match(const blis_kv_cache *cache,
                                             const blis_block_chain *chain, blis_block_list *found,
                                             blis_error *error);

/*
 * Stores *span for holder, like blis_block_pool_allocate, after reloading blocks from the CPU tier
 * if the span has a chain. *is_done is false if there are not enough free blocks. In this case,
 * holder is unchanged unless keeps_failed_claims is set.
 */
BLIS_MUSTUSE blis_status blis_kv_cache_allocate(blis_kv_cache *cache, blis_block_list *holder,
                                                const blis_block_span *span,
                                                const blis_block_list *cached, bool *is_done,
                                                blis_error *error);

/* Like blis_block_pool_name. */
BLIS_MUSTUSE blis_status blis_kv_cache_name(blis_kv_cache *cache, const blis_block_list *holder,
                                            const blis_block_chain *chain, blis_error *error);

/* Returns all blocks of holder to the pool, the last one first, and empties its list. */
void blis_kv_cache_release(blis_kv_cache *cache, blis_block_list *holder);
/* Like blis_block_pool_put_back: returns blocks without names, which are taken again next. */
void blis_kv_cache_put_back(blis_kv_cache *cache, blis_block_list *holder);

/* Like blis_block_pool_forget; the CPU tier keeps its contents. */
void blis_kv_cache_forget(blis_kv_cache *cache);

/* Copies every full block of holder to the CPU tier, if there is one. */
BLIS_MUSTUSE blis_status blis_kv_cache_save(blis_kv_cache *cache, const blis_block_list *holder,
                                            blis_error *error);

/* Returns the total time of the reloads since the last call. */
int64_t blis_kv_cache_take_transfer_us(blis_kv_cache *cache);

void blis_kv_cache_get_stats(const blis_kv_cache *cache, blis_kv_cache_stats *stats);

/* Returns hits / (hits + misses + cpu_misses); 0 if the sum is 0. */
double blis_kv_cache_hit_rate(int64_t hits, int64_t misses, int64_t cpu_misses);

/* The pool of GPU blocks, for a group cache (group_cache.h) that shares it; borrowed. */
blis_block_pool *blis_kv_cache_pool(const blis_kv_cache *cache);

/* Walks the whole cache. Returns whether every invariant holds. */
bool blis_kv_cache_check(const blis_kv_cache *cache);

#endif
