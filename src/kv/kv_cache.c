#include "kv/kv_cache.h"

#include <inttypes.h>
#include <math.h>

#include "base/invariant.h"
#include "kv/cpu_tier.h"

struct blis_kv_cache {
  blis_alloc alloc;
  blis_block_pool *pool;
  blis_cpu_tier *tier; /* NULL without a CPU tier */
  int64_t block_size_tokens;
  bool keeps_failed_claims;
  int64_t transfer_us; /* transfer time of one block */
  bool pays_base_once;
  int64_t base_latency_us;
  double bandwidth_tokens_per_us;
  double offload_threshold;
  int64_t transfers;
  int64_t all_transfers_us;
  int64_t pending_transfer_us;
  int64_t cpu_reloads;
  int64_t cpu_immediate_reloads;
  int64_t cpu_misses;
  blis_block_list found; /* scratch memory for the result of a match after a reload */
};

static int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

static blis_status check_tier(const blis_kv_cache_config *config, blis_error *error) {
  if (config->cpu_blocks < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "number of CPU tier blocks is %" PRId64 "; expected 0 (no tier) or more",
                     config->cpu_blocks);
  }
  if (config->cpu_blocks == 0) {
    return BLIS_OK;
  }
  if (config->keeps_shared_only) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a CPU tier keeps what the cache does not; it cannot be "
                     "had where only shared blocks are kept");
  }
  if (!(config->cpu_bandwidth_tokens_per_us > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "CPU tier bandwidth is %g tokens per us, must be above 0",
                     config->cpu_bandwidth_tokens_per_us);
  }
  if (!(config->offload_threshold >= 0 && config->offload_threshold <= 1)) {
    return blis_fail(error, BLIS_ERR_INVALID, "offload threshold is %g, expected 0 to 1",
                     config->offload_threshold);
  }
  if (config->cpu_base_latency_us < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "CPU tier base latency is %" PRId64 " us; expected 0 or more",
                     config->cpu_base_latency_us);
  }
  return BLIS_OK;
}

/* Small enough that a sum over many blocks fits in 64 bits. */
#define TRANSFER_US_MAX INT64_C(1000000000000)

/* Returns the time to transfer this number of tokens in one piece. */
static int64_t transfer_time(double tokens, double bandwidth, int64_t base_latency_us) {
  double us = ceil(tokens / bandwidth);
  int64_t copy_us = us < (double)TRANSFER_US_MAX ? (int64_t)us : TRANSFER_US_MAX;
  int64_t base_us = base_latency_us < TRANSFER_US_MAX ? base_latency_us : TRANSFER_US_MAX;
  return base_us + copy_us;
}

blis_status blis_kv_cache_new(const blis_alloc *alloc, const blis_kv_cache_config *config,
                              blis_kv_cache **cache, blis_error *error) {
  BLIS_TRY(check_tier(config, error));
  blis_kv_cache *c = blis_alloc_zeroed(alloc, 1, sizeof *c);
  BLIS_TRY_NEW(c, error);
  c->alloc = *alloc;
  c->block_size_tokens = config->block_size_tokens;
  c->keeps_failed_claims = config->keeps_failed_claims;
  blis_status status =
      blis_block_pool_new(alloc, config->blocks, config->block_size_tokens, &c->pool, error);
  if (status == BLIS_OK && config->keeps_shared_only) {
    blis_block_pool_keep_shared_only(c->pool);
  }
  if (status == BLIS_OK && config->names_whole_blocks) {
    blis_block_pool_name_whole_blocks(c->pool);
  }
  if (status == BLIS_OK && config->cpu_blocks > 0) {
    c->pays_base_once = config->pays_base_once;
    c->base_latency_us = config->cpu_base_latency_us;
    c->bandwidth_tokens_per_us = config->cpu_bandwidth_tokens_per_us;
    c->offload_threshold = config->offload_threshold;
    c->transfer_us = transfer_time((double)config->block_size_tokens, c->bandwidth_tokens_per_us,
                                   c->base_latency_us);
    status = blis_cpu_tier_new(alloc, config->cpu_blocks, &c->tier, error);
  }
  if (status != BLIS_OK) {
    blis_kv_cache_free(c);
    return status;
  }
  *cache = c;
  return BLIS_OK;
}

void blis_kv_cache_free(blis_kv_cache *cache) {
  if (cache == NULL) {
    return;
  }
  blis_alloc alloc = cache->alloc;
  blis_array_deinit(&alloc, &cache->found);
  blis_cpu_tier_free(cache->tier);
  blis_block_pool_free(cache->pool);
  blis_alloc_free(&alloc, cache, sizeof *cache);
}

uint32_t blis_kv_cache_count_cached(const blis_kv_cache *cache, const blis_block_chain *chain) {
  return blis_block_pool_count_cached(cache->pool, chain);
}

static blis_status or_nomem(blis_status status, blis_error *error) {
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

void blis_kv_cache_hear(blis_kv_cache *cache, void (*evicted)(void *ud, blis_block_id id),
                        void *ud) {
  blis_block_pool_hear(cache->pool, evicted, ud);
}

void blis_kv_cache_listen(blis_kv_cache *cache, const blis_block_listener *listener) {
  blis_block_pool_listen(cache->pool, listener);
}

void blis_kv_cache_set_journal(blis_kv_cache *cache, blis_block_journal *journal) {
  blis_block_pool_set_journal(cache->pool, journal);
}

uint32_t blis_kv_cache_count_at_mark(const blis_kv_cache *cache, const blis_block_chain *chain) {
  return blis_block_pool_count_at_mark(cache->pool, chain);
}

blis_status blis_kv_cache_match(const blis_kv_cache *cache, const blis_block_chain *chain,
                                blis_block_list *found, blis_error *error) {
  return or_nomem(blis_block_pool_match(cache->pool, chain, found), error);
}

/* Records that this number of blocks was loaded together. */
static void note_transfer(blis_kv_cache *cache, int64_t blocks) {
  if (blocks == 0) {
    return;
  }
  int64_t us = blocks * cache->transfer_us;
  if (cache->pays_base_once) {
    us = transfer_time((double)blocks * (double)cache->block_size_tokens,
                       cache->bandwidth_tokens_per_us, cache->base_latency_us);
  }
  cache->pending_transfer_us += us;
  cache->all_transfers_us += us;
  cache->transfers++;
}

/*
 * Reloads the prompt blocks after the found (or held) ones, in order, up to the first block that is
 * in neither tier. They are added to the prefix table, but holder does not get them yet.
 */
static blis_status reload(blis_kv_cache *cache, const blis_block_list *holder,
                          const blis_block_span *span, const blis_block_list *cached,
                          int64_t *reloaded) {
  const blis_block_list *done = cached;
  if (done == NULL || holder->count > done->count) {
    done = holder;
  }
  blis_block_id id = done->count == 0
                         ? BLIS_BLOCK_NONE
                         : blis__block_pool_identity_of(cache->pool, done->items[done->count - 1]);
  blis_block_pool_stats stats;
  blis_block_pool_get_stats(cache->pool, &stats);
  *reloaded = 0;
  for (size_t k = done->count; k < span->chain->prompt_blocks; k++) {
    id = blis__block_identity(id, span->chain, (int64_t)k * cache->block_size_tokens,
                              cache->block_size_tokens);
    if (blis__block_pool_has(cache->pool, id)) {
      continue;
    }
    int64_t stamp;
    if (!blis_cpu_tier_stamp(cache->tier, id, &stamp) || *reloaded >= stats.free_blocks) {
      break;
    }
    BLIS_TRY(blis__block_pool_restore(cache->pool, id));
    blis_cpu_tier_touch(cache->tier, id, stats.evictions);
    cache->cpu_immediate_reloads += stats.evictions - stamp < stats.blocks;
    cache->cpu_reloads++;
    ++*reloaded;
  }
  note_transfer(cache, *reloaded);
  return BLIS_OK;
}

/* Claims blocks [first, end) of cache->found for holder. */
static blis_status claim(blis_kv_cache *cache, blis_block_list *holder, int64_t first, int64_t end,
                         int64_t new_blocks) {
  int64_t count = end > first ? end - first : 0;
  BLIS_TRY(blis__block_pool_reserve(cache->pool, holder, count + new_blocks));
  if (count > 0) {
    blis__block_pool_claim(cache->pool, holder, &cache->found.items[first], (size_t)count);
  }
  return BLIS_OK;
}

/* Allocates after a reload. The found prefix may now extend beyond the start of the span. */
static blis_status allocate_found(blis_kv_cache *cache, blis_block_list *holder,
                                  const blis_block_span *span, const blis_block_list *cached,
                                  bool *is_done) {
  int64_t size = cache->block_size_tokens;
  BLIS_TRY(blis_block_pool_match(cache->pool, span->chain, &cache->found));
  int64_t found = (int64_t)cache->found.count;
  int64_t first = holder->count > 0 ? ceil_div(span->start_tokens, size) : 0;
  if (found * size <= span->start_tokens) {
    return blis_block_pool_allocate(cache->pool, holder, span, cached, is_done);
  }
  if (found * size >= span->end_tokens) {
    int64_t end = ceil_div(span->end_tokens, size);
    *is_done = true;
    return claim(cache, holder, first, end < found ? end : found, 0);
  }
  blis_block_span rest = *span;
  rest.start_tokens = found * size;
  blis_block_list full = {0}; /* stands for holder after a claim: its last block is full */
  int64_t new_blocks = blis__block_pool_new_blocks(cache->pool, found > first ? &full : holder,
                                                   rest.end_tokens - rest.start_tokens);
  blis_block_pool_stats stats;
  blis_block_pool_get_stats(cache->pool, &stats);
  *is_done =
      new_blocks + blis__block_pool_count_idle(cache->pool, &cache->found) <= stats.free_blocks;
  if (!*is_done && !cache->keeps_failed_claims) {
    return BLIS_OK;
  }
  BLIS_TRY(claim(cache, holder, first, found, new_blocks));
  return blis_block_pool_allocate(cache->pool, holder, &rest, &cache->found, is_done);
}

static blis_status allocate(blis_kv_cache *cache, blis_block_list *holder,
                            const blis_block_span *span, const blis_block_list *cached,
                            bool *is_done) {
  if (cache->tier == NULL || span->chain == NULL) {
    return blis_block_pool_allocate(cache->pool, holder, span, cached, is_done);
  }
  int64_t reloaded;
  BLIS_TRY(reload(cache, holder, span, cached, &reloaded));
  if (reloaded > 0) {
    return allocate_found(cache, holder, span, cached, is_done);
  }
  BLIS_TRY(blis_block_pool_allocate(cache->pool, holder, span, cached, is_done));
  cache->cpu_misses += !*is_done;
  return BLIS_OK;
}

blis_status blis_kv_cache_allocate(blis_kv_cache *cache, blis_block_list *holder,
                                   const blis_block_span *span, const blis_block_list *cached,
                                   bool *is_done, blis_error *error) {
  return or_nomem(allocate(cache, holder, span, cached, is_done), error);
}

blis_status blis_kv_cache_name(blis_kv_cache *cache, const blis_block_list *holder,
                               const blis_block_chain *chain, blis_error *error) {
  return or_nomem(blis_block_pool_name(cache->pool, holder, chain), error);
}

void blis_kv_cache_release(blis_kv_cache *cache, blis_block_list *holder) {
  blis_block_pool_release(cache->pool, holder);
}

void blis_kv_cache_put_back(blis_kv_cache *cache, blis_block_list *holder) {
  blis_block_pool_put_back(cache->pool, holder);
}

void blis_kv_cache_forget(blis_kv_cache *cache) {
  blis_block_pool_forget(cache->pool);
}

static bool is_above_threshold(const blis_kv_cache *cache) {
  blis_block_pool_stats stats;
  blis_block_pool_get_stats(cache->pool, &stats);
  double used = (double)(stats.blocks - stats.free_blocks);
  return used >= cache->offload_threshold * (double)stats.blocks;
}

blis_status blis_kv_cache_save(blis_kv_cache *cache, const blis_block_list *holder,
                               blis_error *error) {
  if (cache->tier == NULL || !is_above_threshold(cache)) {
    return BLIS_OK;
  }
  blis_block_pool_stats stats;
  blis_block_pool_get_stats(cache->pool, &stats);
  for (size_t i = 0; i < holder->count; i++) {
    blis_block_id id = blis__block_pool_identity_of(cache->pool, holder->items[i]);
    if (id != BLIS_BLOCK_NONE) {
      BLIS_TRY(or_nomem(blis_cpu_tier_save(cache->tier, id, stats.evictions), error));
    }
  }
  return BLIS_OK;
}

int64_t blis_kv_cache_take_transfer_us(blis_kv_cache *cache) {
  int64_t us = cache->pending_transfer_us;
  cache->pending_transfer_us = 0;
  return us;
}

void blis_kv_cache_get_stats(const blis_kv_cache *cache, blis_kv_cache_stats *stats) {
  blis_block_pool_stats pool;
  blis_cpu_tier_stats tier = {0};
  blis_block_pool_get_stats(cache->pool, &pool);
  if (cache->tier != NULL) {
    blis_cpu_tier_get_stats(cache->tier, &tier);
  }
  *stats = (blis_kv_cache_stats){
      .blocks = pool.blocks,
      .free_blocks = pool.free_blocks,
      .references = pool.references,
      .hits = pool.hits,
      .misses = pool.misses,
      .cpu_blocks = tier.blocks,
      .cpu_reloads = cache->cpu_reloads,
      .cpu_immediate_reloads = cache->cpu_immediate_reloads,
      .cpu_misses = cache->cpu_misses,
      .cpu_saved = tier.saved,
      .cpu_evictions = tier.evictions,
      .cpu_transfers = cache->transfers,
      .cpu_transfer_us = cache->all_transfers_us,
  };
}

static double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : (double)part / (double)whole;
}

double blis_kv_cache_hit_rate(int64_t hits, int64_t misses, int64_t cpu_misses) {
  return ratio(hits, hits + misses + cpu_misses);
}

blis_block_pool *blis_kv_cache_pool(const blis_kv_cache *cache) {
  return cache->pool;
}

bool blis_kv_cache_check(const blis_kv_cache *cache) {
  return blis_block_pool_check(cache->pool) &&
         (cache->tier == NULL || blis_cpu_tier_check(cache->tier));
}
