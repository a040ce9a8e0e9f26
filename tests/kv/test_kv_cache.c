/* The cache of kv_cache.h: what its CPU tier reloads, claims and costs. */
#include "kv/kv_cache.h"

#include "check.h"

enum { SIZE = 4 };

static blis_block_chain chain_of(uint64_t number, uint32_t prompt_blocks) {
  return (blis_block_chain){.prompt_blocks = prompt_blocks,
                            .private_base = BLIS_BLOCK_PRIVATE | number * 1000};
}

typedef struct user {
  blis_block_chain chain;
  blis_block_list holder;
} user;

static const blis_kv_cache_config tiered = {.blocks = 6,
                                            .block_size_tokens = SIZE,
                                            .cpu_blocks = 20,
                                            .cpu_bandwidth_tokens_per_us = 3,
                                            .cpu_base_latency_us = 10};

static blis_kv_cache *new_cache(const blis_alloc *alloc, const blis_kv_cache_config *config) {
  blis_kv_cache *cache = NULL;
  blis_error error;
  CHECK_OK(blis_kv_cache_new(alloc, config, &cache, &error), &error);
  return cache;
}

static bool store(blis_kv_cache *cache, user *u, int64_t start, int64_t end) {
  blis_block_span span = {.chain = &u->chain,
                          .prompt_tokens = (int64_t)u->chain.prompt_blocks * SIZE,
                          .start_tokens = start,
                          .end_tokens = end};
  bool is_done;
  blis_error error;
  CHECK_OK(blis_kv_cache_allocate(cache, &u->holder, &span, NULL, &is_done, &error), &error);
  CHECK(blis_kv_cache_check(cache));
  return is_done;
}

/* Stores a prompt, saves it to the CPU tier and gives its blocks back. */
static void come_and_go(blis_kv_cache *cache, user *u) {
  blis_error error;
  CHECK(store(cache, u, 0, (int64_t)u->chain.prompt_blocks * SIZE));
  CHECK_OK(blis_kv_cache_save(cache, &u->holder, &error), &error);
  blis_kv_cache_release(cache, &u->holder);
}

static void test_without_a_tier(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_kv_cache_config config = tiered;
  config.cpu_blocks = 0;
  blis_kv_cache *cache = new_cache(&alloc, &config);
  user u = {.chain = chain_of(1, 3)};
  come_and_go(cache, &u);
  CHECK_EQ_I64(blis_kv_cache_count_cached(cache, &u.chain), 3);
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(cache, &stats);
  CHECK_EQ_I64(stats.free_blocks, 6);
  CHECK_EQ_I64(stats.misses, 3);
  CHECK_EQ_I64(stats.cpu_saved, 0);
  CHECK_EQ_I64(blis_kv_cache_take_transfer_us(cache), 0);
  blis_array_deinit(&alloc, &u.holder);
  blis_kv_cache_free(cache);
}

static void test_reload_covers_the_span(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_kv_cache *cache = new_cache(&alloc, &tiered);
  user old = {.chain = chain_of(1, 4)};
  user other = {.chain = chain_of(2, 6)};
  come_and_go(cache, &old);
  come_and_go(cache, &other); /* takes all GPU blocks */
  CHECK_EQ_I64(blis_kv_cache_count_cached(cache, &old.chain), 0);
  CHECK(store(cache, &old, 0, 10));
  CHECK_EQ_I64(old.holder.count, 3); /* the third one reaches past the span */
  CHECK_EQ_I64(blis_kv_cache_count_cached(cache, &old.chain), 4);
  /* 4 blocks, 10 us + ceil(4 tokens / 3 tokens per us) each. */
  CHECK_EQ_I64(blis_kv_cache_take_transfer_us(cache), 4 * (10 + 2));
  CHECK_EQ_I64(blis_kv_cache_take_transfer_us(cache), 0);
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(cache, &stats);
  CHECK_EQ_I64(stats.hits, 3);
  CHECK_EQ_I64(stats.misses, 10);
  CHECK_EQ_I64(stats.cpu_saved, 10);
  CHECK_EQ_I64(stats.cpu_reloads, 4);
  CHECK_EQ_I64(stats.cpu_immediate_reloads, 4); /* 4 blocks were evicted in between, of 6 */
  CHECK_EQ_I64(stats.cpu_misses, 0);
  blis_array_deinit(&alloc, &old.holder);
  blis_array_deinit(&alloc, &other.holder);
  blis_kv_cache_free(cache);
}

/* A reload is immediate until the pool has evicted as many blocks as it has. */
static void test_late_reloads_are_not_immediate(void) {
  for (uint64_t others = 1; others <= 2; others++) { /* they evict 2 blocks, or 6 */
    blis_alloc alloc = blis_alloc_heap();
    blis_kv_cache *cache = new_cache(&alloc, &tiered);
    user old = {.chain = chain_of(9, 4)};
    come_and_go(cache, &old);
    for (uint64_t k = 0; k < others; k++) {
      user other = {.chain = chain_of(k, 4)};
      come_and_go(cache, &other);
      blis_array_deinit(&alloc, &other.holder);
    }
    CHECK(store(cache, &old, 0, 16));
    blis_kv_cache_stats stats;
    blis_kv_cache_get_stats(cache, &stats);
    CHECK_EQ_I64(stats.cpu_reloads, others == 1 ? 2 : 4);
    CHECK_EQ_I64(stats.cpu_immediate_reloads, others == 1 ? 2 : 0);
    blis_array_deinit(&alloc, &old.holder);
    blis_kv_cache_free(cache);
  }
}

/*
 * 2 of 6 blocks are in use; a prompt of 6 blocks finds 3 of them on the CPU
 * and needs 3 more, one more than there are.
 */
static int64_t held_after_failed_reload(bool keeps_failed_claims) {
  blis_alloc alloc = blis_alloc_heap();
  blis_kv_cache_config config = tiered;
  config.keeps_failed_claims = keeps_failed_claims;
  blis_kv_cache *cache = new_cache(&alloc, &config);
  user start = {.chain = chain_of(1, 3)};
  user whole = {.chain = chain_of(1, 6)};
  user busy = {.chain = chain_of(2, 2)};
  user other = {.chain = chain_of(3, 4)};
  come_and_go(cache, &start);
  CHECK(store(cache, &busy, 0, 8));
  come_and_go(cache, &other); /* takes the other 4 blocks */
  CHECK(!store(cache, &whole, 0, 24));
  int64_t held = (int64_t)whole.holder.count;
  CHECK_EQ_I64(blis_kv_cache_count_cached(cache, &whole.chain), 3);
  blis_kv_cache_release(cache, &busy.holder);
  if (held == 0) {
    CHECK(store(cache, &whole, 0, 24));
    CHECK_EQ_I64(whole.holder.count, 6);
  }
  blis_array_deinit(&alloc, &start.holder);
  blis_array_deinit(&alloc, &whole.holder);
  blis_array_deinit(&alloc, &busy.holder);
  blis_array_deinit(&alloc, &other.holder);
  blis_kv_cache_free(cache);
  return held;
}

/* 10 us once + ceil(16 tokens / 3 tokens per us) for all four. */
static void test_base_latency_is_paid_once(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_kv_cache_config config = tiered;
  config.pays_base_once = true;
  blis_kv_cache *cache = new_cache(&alloc, &config);
  user old = {.chain = chain_of(1, 4)};
  user other = {.chain = chain_of(2, 6)};
  come_and_go(cache, &old);
  come_and_go(cache, &other);
  CHECK(store(cache, &old, 0, 10));
  CHECK_EQ_I64(blis_kv_cache_take_transfer_us(cache), 10 + 6);
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(cache, &stats);
  CHECK_EQ_I64(stats.cpu_reloads, 4);
  CHECK_EQ_I64(stats.cpu_transfers, 1);
  CHECK_EQ_I64(stats.cpu_transfer_us, 16);
  blis_kv_cache_release(cache, &old.holder);
  blis_array_deinit(&alloc, &old.holder);
  blis_array_deinit(&alloc, &other.holder);
  blis_kv_cache_free(cache);
}

/* Of 6 blocks 3 are in use, then all. */
static void test_blocks_are_saved_from_a_threshold_on(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_kv_cache_config config = tiered;
  config.offload_threshold = 0.6;
  blis_kv_cache *cache = new_cache(&alloc, &config);
  user few = {.chain = chain_of(1, 3)};
  user all = {.chain = chain_of(2, 6)};
  blis_kv_cache_stats stats;
  come_and_go(cache, &few);
  blis_kv_cache_get_stats(cache, &stats);
  CHECK_EQ_I64(stats.cpu_saved, 0);
  come_and_go(cache, &all);
  blis_kv_cache_get_stats(cache, &stats);
  CHECK_EQ_I64(stats.cpu_saved, 6);
  blis_array_deinit(&alloc, &few.holder);
  blis_array_deinit(&alloc, &all.holder);
  blis_kv_cache_free(cache);
  config.offload_threshold = 1.5;
  blis_error error = {0};
  CHECK(blis_kv_cache_new(&alloc, &config, &cache, &error) == BLIS_ERR_INVALID);
}

static void test_partial_reload_is_all_or_nothing(void) {
  CHECK_EQ_I64(held_after_failed_reload(false), 0);
  CHECK_EQ_I64(held_after_failed_reload(true), 3);
}

static void test_cpu_miss(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_kv_cache *cache = new_cache(&alloc, &tiered);
  user u = {.chain = chain_of(1, 7)};
  CHECK(!store(cache, &u, 0, 28));
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(cache, &stats);
  CHECK_EQ_I64(stats.cpu_misses, 1);
  CHECK_EQ_I64(u.holder.count, 0);
  blis_kv_cache_free(cache);
}

static void test_rates(void) {
  CHECK_EQ_DOUBLE(blis_kv_cache_hit_rate(0, 0, 0), 0.0);
  CHECK_EQ_DOUBLE(blis_kv_cache_hit_rate(2, 11, 1), 2.0 / 14.0);
}

static void test_wrong_tiers(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_kv_cache_config negative = tiered;
  negative.cpu_blocks = -1;
  blis_kv_cache_config slow = tiered;
  slow.cpu_bandwidth_tokens_per_us = 0;
  blis_kv_cache_config early = tiered;
  early.cpu_base_latency_us = -2;
  const struct {
    const blis_kv_cache_config *config;
    const char *part;
  } cases[] = {{&negative, "CPU tier blocks is -1"},
               {&slow, "bandwidth is 0 tokens per us"},
               {&early, "base latency is -2 us"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_kv_cache *cache;
    blis_error error;
    CHECK_STATUS(blis_kv_cache_new(&alloc, cases[i].config, &cache, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].part);
  }
}

static void test_out_of_memory(void) {
  int failures = 0;
  for (long fail_at = 1; fail_at < 40; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_kv_cache *cache;
    if (blis_kv_cache_new(&alloc, &tiered, &cache, NULL) != BLIS_OK) {
      CHECK_EQ_I64(memory.live_bytes, 0);
      failures++;
      continue;
    }
    user u = {.chain = chain_of(1, 5)};
    blis_block_span span = {.chain = &u.chain, .prompt_tokens = 20, .end_tokens = 18};
    for (int round = 0; round < 3; round++) {
      bool is_done = false;
      while (blis_kv_cache_allocate(cache, &u.holder, &span, NULL, &is_done, NULL) != BLIS_OK) {
        CHECK(blis_kv_cache_check(cache) && u.holder.count == 0);
        failures++;
      }
      CHECK(is_done);
      while (blis_kv_cache_save(cache, &u.holder, NULL) != BLIS_OK) {
        failures++;
      }
      blis_kv_cache_release(cache, &u.holder);
      u.chain = chain_of(1 + (uint64_t)(round == 0), 5);
    }
    blis_array_deinit(&alloc, &u.holder);
    blis_kv_cache_free(cache);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(failures >= 8);
}

int main(void) {
  RUN(test_without_a_tier);
  RUN(test_reload_covers_the_span);
  RUN(test_late_reloads_are_not_immediate);
  RUN(test_base_latency_is_paid_once);
  RUN(test_blocks_are_saved_from_a_threshold_on);
  RUN(test_partial_reload_is_all_or_nothing);
  RUN(test_cpu_miss);
  RUN(test_rates);
  RUN(test_wrong_tiers);
  RUN(test_out_of_memory);
  return check_done();
}
