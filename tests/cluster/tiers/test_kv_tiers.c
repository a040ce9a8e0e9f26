/* KV tiers: times and blocks that can be worked out by hand. */
#include "cluster/tiers/kv_tiers.h"
#include "tiers_scene.h"

/*
 * 163,840 B a token and 56.6 us to compute one. At 32
 * GB/s a token is loaded in 5.12 us, at 5 GB/s in 32.8: load; at 1 GB/s in
 * 163.8: compute. They break even at 2.89 GB/s.
 */
static void break_even_at(double gb_per_sec, bool loads) {
  scene s = {0};
  begin(&s, 1);
  set_model(&s.site, 0, 56.6);
  s.config.bytes_per_token = 163840;
  s.config.rule = BLIS_LOADS_IF_FASTER;
  add_tier(&s, "cpu", 200, BLIS_TIER_OF_INSTANCE, gb_per_sec);
  site_add_requests(&s.site, 2);
  ask_for(&s, 0, 0, 0, 1600, 16);
  ask_for(&s, 1, 1000000, 0, 1600, 16);
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  site_run(&s.site);
  CHECK_EQ_I64(counts_of(&s).completed, loads);
  CHECK_EQ_I64(counts_of(&s).declined, !loads);
  const blis_record *r = record_of(site_records(&s.site), 1, 2);
  double load_us = ceil(1600 * 163840 / (gb_per_sec * 1000));
  double ttft_us = loads ? load_us + floor(16 * 56.6) : floor(1616 * 56.6);
  CHECK_EQ_I64(r->ttft_us, (int64_t)ttft_us);
  site_deinit(&s.site);
}

static void loads_what_is_faster(void) {
  break_even_at(32, true);
  break_even_at(5, true);
  break_even_at(2.9, true);
  break_even_at(2.88, false);
  break_even_at(1, false);
}

/*
 * The same: a link of 32 GB/s, 3.2 GB from 0 on and 1.6 GB from 0.05 s on: both
 * are there at 0.15 s; alone the first would be there at 0.1.
 */
static void readers_share_a_link(blis_engine_kind engine) {
  for (int others = 0; others < 2; others++) {
    scene s = {0};
    begin(&s, 2);
    use_engine(&s, engine);
    s.config.bytes_per_token = 1e6;
    add_tier(&s, "pool", 1000, BLIS_TIER_OF_CLUSTER, 32);
    site_add_requests(&s.site, 3 + (size_t)others);
    ask_for(&s, 0, 0, 0, 3200, 16);
    ask_for(&s, 1, 0, 1, 1600, 16);
    ask_for(&s, 2, 1000000, 0, 3200, 16);
    if (others > 0) {
      ask_for(&s, 3, 1050000, 1, 1600, 16);
    }
    site_must_open(&s.site);
    call_at(&s, 900000, forget_caches);
    site_run(&s.site);
    const blis_record *all = site_records(&s.site);
    size_t count = 3 + (size_t)others;
    CHECK_EQ_I64(record_of(all, 2, count)->scheduling_delay_us, others > 0 ? 150000 : 100000);
    if (others > 0) {
      CHECK_EQ_I64(record_of(all, 3, count)->scheduling_delay_us, 100000);
    }
    blis_kv_tier_counts pool = tier_of(&s, 0);
    CHECK_EQ_I64(pool.loads, 1 + others);
    CHECK_EQ_I64(pool.loaded_blocks, 200 + 100 * others);
    CHECK_EQ_DOUBLE(pool.loaded_bytes, others > 0 ? 4.8e9 : 3.2e9);
    CHECK_EQ_I64(pool.saved_blocks, 302 + 1 + others);
    site_deinit(&s.site);
  }
}

/*
 * The same: 100 blocks of 2.62 MB from a disk of 5 GB/s through a CPU tier of
 * 32 GB/s, in batches of 10: 52.4 ms of the disk, and 0.82 for the last batch.
 * They stay in the CPU tier.
 */
static void two_stages_are_a_pipeline(blis_engine_kind engine) {
  scene s = {0};
  begin(&s, 1);
  use_engine(&s, engine);
  s.config.bytes_per_token = 2.62e6 / BLOCK;
  add_tier(&s, "cpu", 101, BLIS_TIER_OF_INSTANCE, 32);
  add_tier(&s, "disk", 1000, BLIS_TIER_OF_INSTANCE, 5)->stage = 0;
  site_add_requests(&s.site, 4);
  ask_for(&s, 0, 0, 0, 1600, 16);
  ask_for(&s, 1, 500000, 1, 1600, 16); /* and the CPU tier has this one */
  ask_for(&s, 2, 1000000, 0, 1600, 16);
  ask_for(&s, 3, 2000000, 0, 1600, 16);
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  call_at(&s, 1900000, forget_caches);
  site_run(&s.site);
  const blis_record *all = site_records(&s.site);
  CHECK_EQ_I64(record_of(all, 2, 4)->scheduling_delay_us, 53219);
  CHECK_EQ_I64(record_of(all, 3, 4)->scheduling_delay_us, 8188);
  CHECK_EQ_I64(tier_of(&s, 1).loaded_blocks, 100);
  CHECK_EQ_I64(tier_of(&s, 0).promoted_blocks, 100);
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks, 100);
  CHECK_EQ_I64(tier_of(&s, 1).saved_blocks, 204);
  site_deinit(&s.site);
}

/* Hits by tier and what is computed are the prompt. */
static void blocks_add_up(void) {
  scene s = {0};
  begin(&s, 1);
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 32);
  site_add_requests(&s.site, 3);
  ask_for(&s, 0, 0, 0, 1600, 16);
  ask_for(&s, 1, 500000, 0, 480, 16);
  ask_for(&s, 2, 1000000, 0, 1600, 160);
  site_must_open(&s.site);
  call_at(&s, 400000, forget_caches);
  site_run(&s.site);
  blis_instance_stats stats;
  blis_instance_get_stats(blis_cluster_instance(s.site.cluster, 0), &stats);
  /* 30 from the tier; then 30 of the cache and 70 from the tier. */
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks, 100);
  CHECK_EQ_I64(stats.cache_hits, 130);
  CHECK_EQ_I64(stats.cache_hits + stats.cache_misses, 101 + 31 + 110);
  site_deinit(&s.site);
}

/* A tier of 120 blocks: of a text of 100, what comes later takes the place of
   the deepest blocks. */
static void deep_blocks_leave_first(void) {
  scene s = {0};
  begin(&s, 1);
  add_tier(&s, "cpu", 120, BLIS_TIER_OF_INSTANCE, 32);
  site_add_requests(&s.site, 4);
  ask_for(&s, 0, 0, 0, 1600, 0);
  ask_for(&s, 1, 500000, 1, 320, 0); /* 20 blocks: it is full */
  ask_for(&s, 2, 1000000, 2, 640, 0);
  ask_for(&s, 3, 1500000, 0, 1600, 0);
  site_must_open(&s.site);
  call_at(&s, 1400000, forget_caches);
  site_run(&s.site);
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks, 60);
  CHECK_EQ_I64(tier_of(&s, 0).evicted_blocks, 40 + 40);
  site_deinit(&s.site);
}

/* How many blocks of a tier are left of those of two texts, one behind the
   other. */
static int64_t left_of(int64_t first, int64_t second, int64_t capacity) {
  scene s = {0};
  begin(&s, 1);
  blis_kv_tier *tier = add_tier(&s, "pool", capacity, BLIS_TIER_OF_CLUSTER, 32);
  tier->evict_above = 0.90;
  tier->evict_share = 0.05;
  site_add_requests(&s.site, 2);
  ask_for(&s, 0, 0, 0, (uint32_t)first * BLOCK, 0);
  ask_for(&s, 1, 5000000, 1, (uint32_t)second * BLOCK, 0);
  site_must_open(&s.site);
  site_run(&s.site);
  CHECK(blis_cluster_check_kv_tiers(s.site.cluster));
  int64_t left = tier_of(&s, 0).used_blocks;
  CHECK_EQ_I64(left + tier_of(&s, 0).evicted_blocks, first + second);
  site_deinit(&s.site);
  return left;
}

/*
 * Mooncake Store: above 0.90 of a store, 0.05 of its blocks leave, and what it
 * has above that: at 0.97, 0.12 of 970 blocks, 116.4; at 0.91, 0.06 of 910,
 * 54.6. Where one finds no room, 0.15 of all leave.
 */
static void blocks_leave_in_lots(void) {
  CHECK_EQ_I64(left_of(850, 50, 1000), 900);
  CHECK_EQ_I64(left_of(900, 70, 1000), 970 - 117);
  CHECK_EQ_I64(left_of(900, 10, 1000), 910 - 55);
  CHECK_EQ_I64(left_of(90, 30, 100), 120 - 15 - 15);
}

/*
 * A tier of 20 blocks that keeps 10. Four blocks come to ten: 0.45 of 14 leave,
 * seven of the first text. When these come back from the disk, the 4 others
 * leave; what is read or on its way stays.
 */
static void lots_leave_for_what_is_promoted(void) {
  scene s = {0};
  begin(&s, 1);
  blis_kv_tier *cpu = add_tier(&s, "cpu", 20, BLIS_TIER_OF_INSTANCE, 32);
  cpu->evict_above = 0.50;
  cpu->evict_share = 0.25;
  add_tier(&s, "disk", 1000, BLIS_TIER_OF_INSTANCE, 5)->stage = 0;
  site_add_requests(&s.site, 3);
  ask_for(&s, 0, 0, 0, 10 * BLOCK, 0);
  ask_for(&s, 1, 500000, 1, 4 * BLOCK, 0);
  ask_for(&s, 2, 1000000, 0, 10 * BLOCK, BLOCK / 2);
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  site_run(&s.site);
  CHECK_EQ_I64(tier_of(&s, 0).promoted_blocks, 7);
  CHECK_EQ_I64(tier_of(&s, 0).evicted_blocks, 7 + 4);
  CHECK_EQ_I64(tier_of(&s, 0).used_blocks, 10);
  site_deinit(&s.site);
}

/* The same when the text was used again: 20 blocks of the second text leave,
   and then the 20 deepest of the first. */
static void deep_blocks_are_used_last(void) {
  scene s = {0};
  begin(&s, 1);
  add_tier(&s, "cpu", 120, BLIS_TIER_OF_INSTANCE, 32);
  site_add_requests(&s.site, 5);
  ask_for(&s, 0, 0, 0, 1600, 0);
  ask_for(&s, 1, 500000, 1, 320, 0);
  ask_for(&s, 2, 1000000, 0, 1600, 0);
  ask_for(&s, 3, 1500000, 2, 640, 0);
  ask_for(&s, 4, 2000000, 0, 1600, 0);
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  call_at(&s, 1900000, forget_caches);
  site_run(&s.site);
  /* All but the last one, whose last token is computed; then 80. */
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks, 99 + 80);
  CHECK_EQ_I64(tier_of(&s, 0).evicted_blocks, 40 + 20);
  site_deinit(&s.site);
}

/* At 5 GB/s a token takes 32.8 us alone and 65.6 beside another reader,
   and 56.6 to compute: of two at once, the second computes. */
static void estimates_know_of_other_readers(void) {
  scene s = {0};
  begin(&s, 1);
  set_model(&s.site, 0, 56.6);
  s.config.bytes_per_token = 163840;
  s.config.rule = BLIS_LOADS_IF_FASTER;
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 5);
  site_add_requests(&s.site, 4);
  for (uint32_t i = 0; i < 4; i++) {
    ask_for(&s, i, i < 2 ? 0 : 1000000, i % 2, 1600, 16);
  }
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  site_run(&s.site);
  CHECK_EQ_I64(counts_of(&s).completed, 1);
  CHECK_EQ_I64(counts_of(&s).declined, 1);
  site_deinit(&s.site);
}

/* With the second sight a block is saved, and found at the third. */
static void a_threshold_saves_writes(void) {
  scene s = {0};
  begin(&s, 1);
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 32)->threshold = 2;
  site_add_requests(&s.site, 3);
  for (size_t i = 0; i < 3; i++) {
    ask_for(&s, i, (int64_t)i * 500000, 0, 1600, 16);
  }
  site_must_open(&s.site);
  call_at(&s, 400000, forget_caches);
  call_at(&s, 900000, forget_caches);
  site_run(&s.site);
  CHECK_EQ_I64(counts_of(&s).completed, 1);
  CHECK_EQ_I64(tier_of(&s, 0).saved_blocks, 100);
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks, 100);
  site_deinit(&s.site);
}

/* How many tokens of a prompt come back when it is asked for again. */
static int64_t tokens_back(uint32_t prompt_tokens, int64_t block_tokens, int64_t chunk_tokens) {
  scene s = {0};
  begin(&s, 1);
  s.site.instances[0].block_size_tokens = block_tokens;
  s.site.instances[0].kv_blocks = 20000;
  s.config.chunk_tokens = chunk_tokens;
  add_tier(&s, "cpu", 20000, BLIS_TIER_OF_INSTANCE, 32);
  site_add_requests(&s.site, 2);
  ask_for(&s, 0, 0, 0, prompt_tokens, 0);
  ask_for(&s, 1, 5000000, 0, prompt_tokens, 0);
  site_must_open(&s.site);
  call_at(&s, 4000000, forget_caches);
  site_run(&s.site);
  int64_t blocks = tier_of(&s, 0).loaded_blocks;
  site_deinit(&s.site);
  return blocks * block_tokens;
}

/* Chunks of 256 tokens: of 1000 tokens 768 are found (LMCache). */
static void only_whole_chunks_hit(void) {
  CHECK_EQ_I64(tokens_back(1000, BLOCK, 256), 768);
  CHECK_EQ_I64(tokens_back(1000, 1, 256), 768);
}

/* LMCache logs a hit of 15,409 of 15,410 tokens; the last one is computed, and
   here with it the block that it is in, or the chunk. */
static void one_token_is_computed(void) {
  CHECK_EQ_I64(tokens_back(15410, 1, 0), 15409);
  CHECK_EQ_I64(tokens_back(15410, BLOCK, 0), 15408);
  CHECK_EQ_I64(tokens_back(15408, BLOCK, 0), 15392);
  CHECK_EQ_I64(tokens_back(1024, BLOCK, 256), 768);
}

/* What the CPU tier evicts goes to the disk behind it, and is found there. */
static void evicted_blocks_go_on(void) {
  scene s = {0};
  begin(&s, 1);
  add_tier(&s, "cpu", 101, BLIS_TIER_OF_INSTANCE, 32);
  blis_kv_tier *disk = add_tier(&s, "disk", 1000, BLIS_TIER_OF_INSTANCE, 5);
  disk->stage = 0;
  disk->saving = BLIS_TIER_ON_EVICT;
  site_add_requests(&s.site, 3);
  ask_for(&s, 0, 0, 0, 1600, 16);
  ask_for(&s, 1, 500000, 1, 1600, 16);
  ask_for(&s, 2, 1000000, 0, 1600, 16);
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  site_run(&s.site);
  CHECK_EQ_I64(tier_of(&s, 0).evicted_blocks, 101 + 101);
  CHECK_EQ_I64(tier_of(&s, 1).loaded_blocks, 100);
  CHECK(blis_cluster_check_kv_tiers(s.site.cluster));
  site_deinit(&s.site);
}

/* 110 blocks of GPU: the second prompt of 101 takes all but 9 of the blocks of
   the first, and these are saved as they go. */
static void evictions_of_the_cache_are_saved(void) {
  scene s = {0};
  begin(&s, 1);
  s.site.instances[0].kv_blocks = 110;
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 32)->saving = BLIS_TIER_ON_EVICT;
  site_add_requests(&s.site, 3);
  ask_for(&s, 0, 0, 0, 1600, 16);
  ask_for(&s, 1, 500000, 1, 1600, 16);
  ask_for(&s, 2, 1000000, 0, 1600, 16);
  site_must_open(&s.site);
  blis_error error;
  CHECK_OK(blis_cluster_run_until(s.site.cluster, 900000, &error), &error);
  CHECK_EQ_I64(tier_of(&s, 0).saved_blocks, 101 - 9);
  site_run(&s.site);
  /* The deepest blocks have gone first: the first nine are found in the cache,
     and all the others of the text in the tier. */
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks, 100 - 9);
  site_deinit(&s.site);
}

/* A peer's CPU tier is read over the network of both. */
static void peers_are_read(blis_engine_kind engine) {
  scene s = {0};
  begin(&s, 2);
  use_engine(&s, engine);
  s.config.network_bytes_per_us = 12.5e3;
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 32)->is_shared = true;
  s.config.bytes_per_token = 1e5;
  site_add_requests(&s.site, 3);
  ask_for(&s, 0, 0, 0, 1600, 16);       /* at instance 0 */
  ask_for(&s, 1, 500000, 0, 1600, 16);  /* at instance 1, from 0 */
  ask_for(&s, 2, 1000000, 0, 1600, 16); /* at instance 0, of its own */
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  site_run(&s.site);
  const blis_record *all = site_records(&s.site);
  CHECK_EQ_I64(record_of(all, 1, 3)->scheduling_delay_us, 12800);
  CHECK_EQ_I64(record_of(all, 2, 3)->scheduling_delay_us, 5000);
  CHECK_EQ_I64(tier_of(&s, 0).peer_blocks, 100);
  site_deinit(&s.site);
}

/* The peer dies while it is read: what it lacks is computed. */
static void losses_are_computed(blis_engine_kind engine) {
  scene s = {0};
  begin(&s, 2);
  use_engine(&s, engine);
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 0.001)->is_shared = true;
  site_add_requests(&s.site, 2);
  ask_for(&s, 0, 0, 0, 1600, 16);
  ask_for(&s, 1, 500000, 0, 1600, 16); /* 1.6 s to load */
  site_must_open(&s.site);
  call_at(&s, 600000, lose_first);
  site_run(&s.site);
  const blis_record *r = record_of(site_records(&s.site), 1, 2);
  CHECK_EQ_I64(r->scheduling_delay_us, 100000);
  CHECK_EQ_I64(r->ttft_us, 100000 + 1000 + 50 * 1616);
  CHECK_EQ_I64(counts_of(&s).failed, 1);
  CHECK_EQ_I64(tier_of(&s, 0).lost_blocks, 100);
  CHECK_EQ_I64(tier_of(&s, 0).removed_blocks, 101);
  site_deinit(&s.site);
}

/*
 * Of 100 blocks, 50 have come from its own tier when the peer dies that has the
 * others. Until it may join the batch of one, who runs there grows to 110 of
 * 130 blocks: 20 of those that came are left to be found.
 */
static void what_came_may_go_again(blis_engine_kind engine) {
  scene s = {0};
  begin(&s, 2);
  use_engine(&s, engine);
  s.config.network_bytes_per_us = 1;
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 32)->is_shared = true;
  s.site.instances[0].kv_blocks = 130;
  s.site.instances[0].max_num_seqs = 1;
  site_add_requests(&s.site, 5);
  ask_for(&s, 0, 0, 0, 800, 16);
  ask_for(&s, 1, 0, 0, 1600, 16);
  ask_for(&s, 2, 1000000, 0, 1600, 16); /* at instance 0, as the first one */
  ask_for(&s, 3, 1000000, 1, 16, 0);
  ask_for(&s, 4, 1100000, 2, 160, 0);
  s.site.source.requests[4].output_tokens = 1600;
  s.site.source.requests[4].max_output_tokens = 1600;
  site_must_open(&s.site);
  call_at(&s, 900000, forget_caches);
  call_at(&s, 1200000, lose_second);
  site_run(&s.site);
  CHECK_EQ_I64(counts_of(&s).failed, 1);
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks, 50);
  CHECK_EQ_I64(tier_of(&s, 0).lost_blocks, 50);
  const blis_record *all = site_records(&s.site);
  size_t place = (size_t)(record_of(all, 2, 5) - all);
  CHECK_EQ_I64(blis_recorder_tier_tokens(s.site.recorder, place, 0), 20 * BLOCK);
  CHECK_EQ_I64(SITE_EXTRA(&s.site, place, cached_tokens), 0);
  site_deinit(&s.site);
}

/* A tier of no blocks is as if there were none; and so is one that is as large
   as the cache: a host tier helps only when it is larger. */
static void empty_tiers_change_nothing(void) {
  uint64_t hashes[2];
  for (int i = 0; i < 2; i++) {
    scene s = {0};
    begin(&s, 3);
    add_tier(&s, "cpu", 0, BLIS_TIER_OF_INSTANCE, 32);
    add_tier(&s, "disk", 0, BLIS_TIER_OF_CLUSTER, 32)->stage = 0;
    if (i == 0) {
      s.site.config.options[BLIS_FEATURE_TIERS] = NULL;
    }
    site_add_random_requests(&s.site, 150, 50, 7);
    hashes[i] = site_hash(&s.site);
    site_deinit(&s.site);
  }
  CHECK(hashes[0] == hashes[1]);
}

static void what_is_wrong_is_told(void) {
  static const char *const words[] = {"stage", "stage itself", "bandwidth", "same model",
                                      "kv_bytes_per_token"};
  for (int i = 0; i < 5; i++) {
    scene s = {0};
    begin(&s, 2);
    add_tier(&s, "cpu", 10, BLIS_TIER_OF_INSTANCE, 32);
    blis_kv_tier *b = add_tier(&s, "b", 10, BLIS_TIER_OF_CLUSTER, 32);
    blis_kv_tier *c = add_tier(&s, "c", 10, BLIS_TIER_OF_CLUSTER, 32);
    b->stage = i == 0 ? 1 : i == 1 ? 0 : -1;
    c->stage = i == 1 ? 1 : -1;
    c->read_bytes_per_us = i == 2 ? 0 : 1;
    s.facts[1].model = i == 3 ? "other" : "";
    s.facts[1].kv_bytes_per_token = i == 4 ? 0 : 1000;
    site_add_requests(&s.site, 1);
    blis_error error = {0};
    CHECK(site_open(&s.site, &error) == BLIS_ERR_INVALID);
    CHECK(strstr(error.message, words[i]) != NULL);
    site_deinit(&s.site);
  }
}

/* KV of x, a/x and b/x is that of three models, whichever comes first. */
static void owners_share_nothing(void) {
  static const char *const models[][3] = {
      {"x", "a/x", "b/x"}, {"a/x", "x", "x"}, {"a/x", "a/x", "x"}, {"a/x", "A/X", "a/x"}};
  for (size_t i = 0; i < 4; i++) {
    scene s = {0};
    begin(&s, 3);
    add_tier(&s, "b", 10, BLIS_TIER_OF_CLUSTER, 32);
    for (size_t k = 0; k < 3; k++) {
      s.facts[k].model = models[i][k];
    }
    site_add_requests(&s.site, 1);
    blis_error error = {0};
    CHECK_STATUS(site_open(&s.site, &error), i == 3 ? BLIS_OK : BLIS_ERR_INVALID);
    if (i < 3) {
      CHECK_CONTAINS(error.message, i == 2 ? "instance_2 differs from instance_0"
                                           : "instance_1 differs from instance_0");
    }
    site_deinit(&s.site);
  }
}

static void shared_links(void) {
  in_both_engines(readers_share_a_link);
}
static void stages(void) {
  in_both_engines(two_stages_are_a_pipeline);
}
static void peers(void) {
  in_both_engines(peers_are_read);
}
static void losses(void) {
  in_both_engines(losses_are_computed);
}
static void comings_and_goings(void) {
  in_both_engines(what_came_may_go_again);
}
int main(void) {
  RUN(loads_what_is_faster);
  RUN(shared_links);
  RUN(stages);
  RUN(blocks_add_up);
  RUN(deep_blocks_leave_first);
  RUN(blocks_leave_in_lots);
  RUN(lots_leave_for_what_is_promoted);
  RUN(deep_blocks_are_used_last);
  RUN(estimates_know_of_other_readers);
  RUN(a_threshold_saves_writes);
  RUN(only_whole_chunks_hit);
  RUN(one_token_is_computed);
  RUN(evicted_blocks_go_on);
  RUN(evictions_of_the_cache_are_saved);
  RUN(peers);
  RUN(losses);
  RUN(comings_and_goings);
  RUN(empty_tiers_change_nothing);
  RUN(what_is_wrong_is_told);
  RUN(owners_share_nothing);
  return check_done();
}
