/*
 * kv_cache.h - the KV cache of one engine: a pool of GPU blocks and, if configured,
 * copies in CPU memory.
 *
 * Follows BLIS (Go, inference-sim f90a1e3a). With a CPU tier, every full block of a
 * running request is saved in every step. An allocation first reloads the prompt
 * blocks that the pool has lost and the tier still has. The transfer time is added
 * to the step.
 *
 * Needs no engine for match, allocate, and release. Costs are the costs of
 * block_pool.h and cpu_tier.h, O(1) per block.
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
   * A reloaded block costs base + ceil(block size / bandwidth); or, with
   * pays_base_once, the n blocks of an allocation base + ceil(n * block size /
   * bandwidth) together.
   */
  double cpu_bandwidth_tokens_per_us; /* > 0 with a tier */
  int64_t cpu_base_latency_us;        /* >= 0 */
  bool pays_base_once;
  /* Blocks are saved while at least this share of the GPU's is in use, 0 to 1.
   */
  double offload_threshold;
  /*
   * As in BLIS (Go): a request keeps reloaded blocks if the allocation they were
   * claimed for fails, even though it continues to wait.
   */
  bool keeps_failed_claims;
  /* Blocks that no other request may share are dropped (block_pool.h); not with a CPU tier. */
  bool keeps_shared_only;
  bool names_whole_blocks; /* blis_block_pool_name_whole_blocks */
} blis_kv_cache_config;

typedef struct blis_kv_cache_stats {
  int64_t blocks;
  int64_t free_blocks; /* not referenced, whether findable or not */
  int64_t references;  /* sum of the lengths of all holders' lists */
  int64_t hits;        /* found blocks that were claimed */
  int64_t misses;      /* blocks taken for new content, output included */
  int64_t cpu_blocks;  /* stored in the CPU tier now */
  int64_t cpu_reloads; /* blocks brought back from the CPU tier */
  /*
   * Part of cpu_reloads: the pool evicted fewer blocks than it has since a request last held the
   * block. An LRU cache of twice the size would still have had it.
   */
  int64_t cpu_immediate_reloads;
  int64_t cpu_misses; /* allocations that failed with nothing to reload */
  int64_t cpu_saved;
  int64_t cpu_evictions;
  int64_t cpu_transfers;   /* allocations that brought blocks back */
  int64_t cpu_transfer_us; /* time of these transfers */
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

/* Number of leading full blocks of the prompt that can be found. Pure. */
uint32_t blis_kv_cache_count_cached(const blis_kv_cache *cache, const blis_block_chain *chain);

/* As blis_block_pool_set_journal; the CPU tier does not count. */
void blis_kv_cache_set_journal(blis_kv_cache *cache, blis_block_journal *journal);
/* As blis_block_pool_hear. */
void blis_kv_cache_hear(blis_kv_cache *cache, void (*evicted)(void *ud, blis_block_id id),
                        void *ud);
/* As blis_block_pool_listen; the CPU tier does not count. */
void blis_kv_cache_listen(blis_kv_cache *cache, const blis_block_listener *listener);
uint32_t blis_kv_cache_count_at_mark(const blis_kv_cache *cache, const blis_block_chain *chain);

/* The blocks that count_cached counts, in *found, for an allocation. Pure. */
BLIS_MUSTUSE blis_status blis_kv_cache_match(const blis_kv_cache *cache,
                                             const blis_block_chain *chain, blis_block_list *found,
                                             blis_error *error);

/*
 * Stores *span for holder, like blis_block_pool_allocate, after reloading blocks
 * from the CPU tier if the span has names. *is_done is false if the free blocks do
 * not suffice; holder is unchanged in this case, unless keeps_failed_claims.
 */
BLIS_MUSTUSE blis_status blis_kv_cache_allocate(blis_kv_cache *cache, blis_block_list *holder,
                                                const blis_block_span *span,
                                                const blis_block_list *cached, bool *is_done,
                                                blis_error *error);

/* As blis_block_pool_name. */
BLIS_MUSTUSE blis_status blis_kv_cache_name(blis_kv_cache *cache, const blis_block_list *holder,
                                            const blis_block_chain *chain, blis_error *error);

/* Returns all blocks of holder, the last one first, and empties its list. */
void blis_kv_cache_release(blis_kv_cache *cache, blis_block_list *holder);
/* Returns blocks without names: they are the next to be taken (block_pool.h). */
void blis_kv_cache_put_back(blis_kv_cache *cache, blis_block_list *holder);

/* Like blis_block_pool_forget; the CPU tier keeps its contents. */
void blis_kv_cache_forget(blis_kv_cache *cache);

/* Copies every full block of holder to the CPU tier, if any. */
BLIS_MUSTUSE blis_status blis_kv_cache_save(blis_kv_cache *cache, const blis_block_list *holder,
                                            blis_error *error);

/* Time of the reloads since the last call. */
int64_t blis_kv_cache_take_transfer_us(blis_kv_cache *cache);

void blis_kv_cache_get_stats(const blis_kv_cache *cache, blis_kv_cache_stats *stats);

/* Claimed blocks over claimed and new ones and CPU misses; 0 if none. */
double blis_kv_cache_hit_rate(int64_t hits, int64_t misses, int64_t cpu_misses);

/* The pool of GPU blocks, for a group_cache.h that shares it; borrowed. */
blis_block_pool *blis_kv_cache_pool(const blis_kv_cache *cache);

/* Walks everything; returns true if all invariants hold. */
bool blis_kv_cache_check(const blis_kv_cache *cache);

#endif
