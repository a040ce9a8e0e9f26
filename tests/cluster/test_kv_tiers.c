/*
 * KV tiers: times that can be worked out by hand, and random clusters with
 * tiers, preemptions, pools, faults and deadlines, in which every request ends
 * once, no block is lost or held, the links carry what the jobs say, and both
 * engines agree. Arguments: how many random cases (default 150) and the number
 * of the first one.
 */
#include <math.h>

#include "base/hash.h"
#include "cluster_fixture.h"

enum { REQUESTS = 150, ACTS = 6, BLOCK = 16 };

typedef struct scene {
  site site;
  blis_instance_facts facts[SITE_INSTANCES_MAX];
  blis_kv_tier tiers[BLIS_KV_TIERS_MAX];
  blis_kv_tiers config;
  blis_disaggregation pools;
  bool has_pools;
} scene;

static const blis_engine_rules real_engine = {.leaves_at_step_end = true,
                                              .resumes_preempted = true,
                                              .counts_prompt_blocks = true,
                                              .recomputes_last_token = true,
                                              .drops_last_kv = true,
                                              .knows_cached_context = true};

/* A step takes so long, and so long for each token of a prefill; a request is
   in the queue at once. */
static void set_model(site *s, double step_us, double us_per_token) {
  blis_alloc heap = blis_alloc_heap();
  const double alpha[] = {0, 0, 0};
  const double beta[] = {step_us, us_per_token, 0};
  const blis_coefficients coefficients = {alpha, 3, beta, 3};
  blis_latency_free(&s->latency);
  CHECK(blis_blackbox_new(&heap, &coefficients, &s->latency, NULL) == BLIS_OK);
}

static void begin(scene *s, uint32_t count) {
  site_init(&s->site, blis_alloc_heap(), count);
  set_model(&s->site, 1000, 50);
  for (uint32_t i = 0; i < count; i++) {
    s->site.instances[i].rules = real_engine;
    s->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    s->facts[i].kv_bytes_per_token = 1000;
  }
  s->site.config.facts = s->facts;
  s->site.config.kv_tiers = &s->config;
  s->config = (blis_kv_tiers){.tiers = s->tiers,
                              .cache_weight = 1,
                              .network_bytes_per_us = (double)INFINITY,
                              .batch_blocks = 10};
}

static blis_kv_tier *add_tier(scene *s, const char *name, int64_t blocks,
                              blis_tier_scope scope, double gb_per_sec) {
  blis_kv_tier *tier = &s->tiers[s->config.count++];
  *tier = (blis_kv_tier){.name = name,
                         .blocks = blocks,
                         .scope = scope,
                         .instances_per_node = 2,
                         .stage = -1,
                         .read_bytes_per_us = gb_per_sec * 1000,
                         .write_bytes_per_us = (double)INFINITY,
                         .sights_kept = 1000,
                         .promotes = true,
                         .weight = 0.75};
  return tier;
}

/* Request i wants the first so many tokens of a text, and some of its own. */
static void ask_for(scene *s, size_t i, int64_t at_us, uint32_t text,
                    uint32_t text_tokens, uint32_t own_tokens) {
  blis_request *r = &s->site.source.requests[i];
  s->site.segments[text].stream = text + 1;
  if (s->site.segments[text].length_tokens < text_tokens) {
    s->site.segments[text].length_tokens = text_tokens;
  }
  r->arrival_us = at_us;
  r->segments = &s->site.segments[text];
  r->segment_count = 1;
  r->shared_tokens = text_tokens;
  r->prompt_tokens = text_tokens + own_tokens;
  r->output_tokens = 1;
  r->max_output_tokens = 1;
}

static blis_status forget_caches(void *ud, blis_cluster *cluster,
                                 blis_error *error) {
  (void)ud;
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    BLIS_TRY(blis_cluster_instance_lose_cache(cluster, i, error));
  }
  return BLIS_OK;
}

static blis_status lose_first(void *ud, blis_cluster *cluster,
                              blis_error *error) {
  (void)ud;
  return blis_cluster_instance_fail(cluster, 0, (blis_loss){0}, error);
}

static blis_status lose_second(void *ud, blis_cluster *cluster,
                               blis_error *error) {
  (void)ud;
  return blis_cluster_instance_fail(cluster, 1, (blis_loss){0}, error);
}

static void call_at(scene *s, int64_t at_us,
                    blis_status (*fn)(void *ud, blis_cluster *cluster,
                                      blis_error *error)) {
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s->site.cluster, at_us, fn, NULL, &error),
           &error);
}

static blis_kv_tiers_counts counts_of(const scene *s) {
  return blis_cluster_kv_tiers(s->site.cluster);
}

static blis_kv_tier_counts tier_of(const scene *s, size_t index) {
  return blis_cluster_kv_tier(s->site.cluster, index);
}

static const blis_record *record_of(const blis_record *records, int64_t number,
                                    size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (records[i].number == number) {
      return &records[i];
    }
  }
  CHECK(false);
  return NULL;
}

static void in_both_engines(void (*test)(blis_engine_kind engine)) {
  test(BLIS_ENGINE_STEPWISE);
  test(BLIS_ENGINE_FAST);
}

static void use_engine(scene *s, blis_engine_kind engine) {
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].engine = engine;
  }
}

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
    CHECK_EQ_I64(record_of(all, 2, count)->scheduling_delay_us,
                 others > 0 ? 150000 : 100000);
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

/* Chunks of 16 blocks, 256 tokens: of 1000 tokens 768 are found (LMCache). */
static void only_whole_chunks_hit(void) {
  scene s = {0};
  begin(&s, 1);
  s.config.chunk_tokens = 256;
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 32);
  site_add_requests(&s.site, 2);
  ask_for(&s, 0, 0, 0, 1000, 0);
  ask_for(&s, 1, 500000, 0, 1000, 0);
  site_must_open(&s.site);
  call_at(&s, 400000, forget_caches);
  site_run(&s.site);
  CHECK_EQ_I64(tier_of(&s, 0).loaded_blocks * BLOCK, 768);
  site_deinit(&s.site);
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
  add_tier(&s, "cpu", 1000, BLIS_TIER_OF_INSTANCE, 32)->saving =
      BLIS_TIER_ON_EVICT;
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
  blis_kv_hits hits;
  CHECK(blis_recorder_hits(s.site.recorder, place, &hits));
  CHECK_EQ_I64(hits.tier_tokens[0], 20 * BLOCK);
  CHECK_EQ_I64(hits.cached_tokens, 0);
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
      s.site.config.kv_tiers = NULL;
    }
    site_add_random_requests(&s.site, REQUESTS, 50, 7);
    hashes[i] = site_hash(&s.site);
    site_deinit(&s.site);
  }
  CHECK(hashes[0] == hashes[1]);
}

static void what_is_wrong_is_told(void) {
  static const char *const words[] = {"stage", "stage itself", "bandwidth",
                                      "same model", "kv_bytes_per_token"};
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

/* Random clusters. */

typedef struct act {
  uint32_t index;
  int kind;
} act;

static blis_status do_act(void *ud, blis_cluster *cluster, blis_error *error) {
  const act *a = ud;
  switch (a->kind) {
  case 0:
    return blis_cluster_instance_fail(
        cluster, a->index, (blis_loss){.kind = BLIS_LOSS_REROUTED}, error);
  case 1:
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){0}, error);
  case 2:
    return blis_cluster_instance_drain(cluster, a->index, false, error);
  case 3:
    return blis_cluster_instance_lose_cache(cluster, a->index, error);
  default:
    return blis_cluster_instance_restore(cluster, a->index, error);
  }
}

static blis_status half_of_it(void *ud, const blis_kv_offer *offer,
                              int64_t *tokens, blis_error *error) {
  (void)ud;
  (void)error;
  int64_t sum = 0;
  for (int t = 0; t < BLIS_KV_TIERS_MAX; t++) {
    sum += offer->tier_tokens[t];
  }
  CHECK_EQ_I64(sum, offer->offered_tokens);
  CHECK(offer->load_us >= 0);
  *tokens = offer->request->number % 3 == 0 ? offer->offered_tokens
                                            : offer->offered_tokens / 2;
  return BLIS_OK;
}

static blis_status deep_ones_leave(void *ud, const blis_kv_sight *sight,
                                   double *score, blis_error *error) {
  (void)ud;
  (void)error;
  *score = (double)sight->uses - sight->depth;
  return BLIS_OK;
}

static double draw_bandwidth(blis_random *random) {
  static const double gb_per_sec[] = {0.002, 0.05, 1, 30};
  int i = blis_random_intn(random, 5);
  return i == 4 ? (double)INFINITY : gb_per_sec[i];
}

static void draw_tiers(scene *s, blis_random *random) {
  static const int64_t sizes[] = {0, 3, 20, 100, 1000};
  int count = 1 + blis_random_intn(random, 4);
  for (int t = 0; t < count; t++) {
    blis_kv_tier *tier = add_tier(s, "tier", sizes[blis_random_intn(random, 5)],
                                  (blis_tier_scope)blis_random_intn(random, 3),
                                  draw_bandwidth(random));
    tier->write_bytes_per_us = draw_bandwidth(random) * 1000;
    tier->is_half_duplex = blis_random_intn(random, 4) == 0;
    tier->latency_us = blis_random_intn(random, 3) * 333.3;
    tier->policy =
        (blis_tier_policy)blis_random_intn(random, BLIS_TIER_POLICY_COUNT);
    tier->threshold = blis_random_intn(random, 4);
    tier->promotes = blis_random_intn(random, 3) > 0;
    tier->survives = blis_random_intn(random, 3) == 0;
    tier->is_shared = tier->scope == BLIS_TIER_OF_INSTANCE &&
                      blis_random_intn(random, 2) == 0;
    if (blis_random_intn(random, 12) == 0) {
      tier->saving = BLIS_TIER_ON_EVICT; /* what the caches evict */
    }
    int stage = blis_random_intn(random, t + 1) - 1;
    if (stage >= 0 && s->tiers[stage].stage < 0 &&
        s->tiers[stage].scope <= tier->scope) {
      tier->stage = stage;
      tier->saving = (blis_tier_saving)blis_random_intn(random, 3);
    }
  }
  s->config.rule = (blis_load_rule)blis_random_intn(random, 3);
  s->config.load_choice = half_of_it;
  s->config.score = deep_ones_leave;
  s->config.chunk_tokens = 16 * blis_random_intn(random, 4);
  s->config.batch_blocks = 1 + blis_random_intn(random, 20);
  s->config.saves_output = blis_random_intn(random, 2) == 0;
  if (blis_random_intn(random, 2) == 0) {
    s->config.network_bytes_per_us = draw_bandwidth(random) * 1000;
  }
}

static void draw_pools(scene *s, blis_random *random) {
  s->has_pools =
      s->site.config.instance_count > 1 && blis_random_intn(random, 3) == 0;
  s->pools =
      (blis_disaggregation){.bytes_per_us = 100,
                            .fabric_bytes_per_us = (double)INFINITY,
                            .kv_limit = 1,
                            .on_no_room = BLIS_NO_ROOM_LOCAL,
                            .on_failure = BLIS_HANDOFF_IS_RECOMPUTED,
                            .timeout_us = 500000,
                            .reserves_first = blis_random_intn(random, 2) == 0,
                            .moves_missing = true};
  for (uint32_t i = 0; s->has_pools && i < s->site.config.instance_count; i++) {
    s->facts[i].roles = i == 0   ? BLIS_ROLE_PREFILL
                        : i == 1 ? BLIS_ROLE_DECODE
                                 : BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE;
  }
}

static void draw_scene(scene *s, int64_t seed) {
  static const char *const policies[] = {"round-robin", "least-loaded",
                                         "weighted"};
  blis_random random;
  blis_random_init_named(&random, seed, "tiers");
  begin(s, 1 + (uint32_t)blis_random_intn(&random, 4));
  s->site.policy = policies[blis_random_intn(&random, 3)];
  int64_t kv_blocks = 45 + blis_random_intn(&random, 150);
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    blis_instance_config *c = &s->site.instances[i];
    c->kv_blocks = kv_blocks;
    c->block_size_tokens = 16;
    c->max_num_seqs = 1 + blis_random_intn(&random, 20);
    c->max_batched_tokens = 64 << blis_random_intn(&random, 5);
    c->scheduler = (blis_scheduler_kind)blis_random_intn(&random, 3);
    c->preemption = (blis_preemption_kind)blis_random_intn(&random, 2);
  }
  draw_tiers(s, &random);
  draw_pools(s, &random);
  if (blis_random_intn(&random, 8) == 0) {
    for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
      s->site.instances[i].horizon_us = 1500000;
    }
    s->site.config.horizon_us = 1500000;
  }
  site_add_random_requests(&s->site, REQUESTS,
                           5 + blis_random_intn(&random, 100), seed);
  for (size_t i = 0; i < REQUESTS; i++) {
    blis_request *r = &s->site.source.requests[i];
    if (blis_random_intn(&random, 4) == 0) {
      r->deadline_us = r->arrival_us + blis_random_intn(&random, 3000000);
    }
    if (blis_random_intn(&random, 3) == 0) {
      r->prompt_tokens = r->shared_tokens; /* the text goes on */
      r->shares_output = true;
    }
  }
}

static void open_scene(scene *s) {
  blis_error error;
  blis_alloc heap = blis_alloc_heap();
  blis_policy_context context = site_context(&s->site);
  site_must_open(&s->site);
  if (!s->has_pools) {
    return;
  }
  blis_disaggregation pools = s->pools;
  CHECK_OK(blis_router_create(&heap, "round-robin", NULL, &context,
                              &pools.prefill, &error),
           &error);
  CHECK_OK(blis_decider_create(&heap, "always", NULL, &context, &pools.decider,
                               &error),
           &error);
  CHECK_OK(blis_cluster_set_disaggregation(s->site.cluster, &pools, &error),
           &error);
}

static int64_t all_loads;
static int64_t all_failed;
static int64_t all_canceled;
static int64_t all_promoted;
static int64_t all_dropped;
static int64_t all_preempted;
static int64_t all_peers;

/* Without faults and with time for all, the links have carried what the jobs
   say and nothing else. */
static uint64_t check_books(scene *s, bool is_undisturbed) {
  blis_kv_tiers_counts c = counts_of(s);
  uint64_t hash = blis_recorder_hash(s->site.recorder);
  int64_t loaded = 0;
  double bytes = 0;
  CHECK(blis_cluster_check_kv_tiers(s->site.cluster));
  for (size_t t = 0; t < blis_cluster_kv_tier_count(s->site.cluster); t++) {
    blis_kv_tier_counts tier = tier_of(s, t);
    CHECK_EQ_I64(tier.saved_blocks + tier.promoted_blocks,
                 tier.used_blocks + tier.evicted_blocks + tier.removed_blocks);
    CHECK(tier.used_blocks <= tier.capacity_blocks);
    loaded += tier.loaded_blocks;
    bytes += tier.loaded_bytes + tier.saved_bytes;
    all_promoted += tier.promoted_blocks;
    all_dropped += tier.dropped_blocks;
    all_peers += tier.peer_blocks;
    tier.name = NULL;
    hash ^= blis_hash64(&tier, sizeof tier, t + 2);
  }
  CHECK_EQ_I64(loaded, c.loaded_blocks);
  CHECK(c.moved_bytes >= bytes * (1 - 1e-9));
  if (is_undisturbed && c.failed + c.canceled == 0) {
    CHECK(c.moved_bytes <= bytes * (1 + 1e-9) + 1);
  }
  c.moved_bytes = 0; /* sums in another order */
  all_loads += c.completed;
  all_failed += c.failed;
  all_canceled += c.canceled;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(s->site.cluster, i), &stats);
    all_preempted += stats.preemptions;
    CHECK(blis_instance_check(blis_cluster_instance(s->site.cluster, i)));
    if (s->site.config.horizon_us == BLIS_TIME_NEVER_US) {
      CHECK_EQ_I64(stats.used_kv_blocks, 0);
    }
  }
  if (s->site.config.horizon_us == BLIS_TIME_NEVER_US) {
    CHECK_EQ_I64(c.in_flight, 0);
    site_check_counters_are_zero(&s->site);
  }
  site_check_states_sum_up(
      &s->site, s->site.config.horizon_us == BLIS_TIME_NEVER_US
                    ? REQUESTS
                    : (int64_t)blis_recorder_count(s->site.recorder));
  return hash ^ blis_hash64(&c, sizeof c, 1);
}

static void check_tiers(const site *s) {
  CHECK(blis_cluster_check_kv_tiers(s->cluster));
}

static uint64_t run_scene(scene *s, int64_t seed, blis_engine_kind engine,
                          bool by_steps) {
  static act acts[ACTS];
  blis_random random;
  blis_random_init_named(&random, seed, "acts");
  uint32_t count = s->site.config.instance_count;
  blis_error error;
  use_engine(s, engine);
  open_scene(s);
  for (int i = 0; i < ACTS && seed % 2 == 0; i++) {
    acts[i] =
        (act){.index = (uint32_t)blis_random_intn(&random, (int32_t)count),
              .kind = i == 0 ? 4 : blis_random_intn(&random, 6)};
    CHECK_OK(blis_cluster_call_at(s->site.cluster,
                                  blis_random_intn(&random, 3000000), do_act,
                                  &acts[i], &error),
             &error);
  }
  if (by_steps) {
    CHECK_OK(site_step_to_end(&s->site, check_tiers, &error), &error);
  }
  site_run(&s->site);
  uint64_t hash = check_books(s, seed % 2 != 0 && s->site.config.horizon_us ==
                                                      BLIS_TIME_NEVER_US);
  site_close(&s->site);
  return hash;
}

static int64_t case_count = 150;
static int64_t first_case = 1;

static void engines_agree(void) {
  for (int64_t i = first_case; i < first_case + case_count; i++) {
    scene s = {0};
    printf("# case %lld\n", (long long)i);
    draw_scene(&s, i);
    uint64_t plain = run_scene(&s, i, BLIS_ENGINE_STEPWISE, false);
    CHECK(run_scene(&s, i, BLIS_ENGINE_FAST, false) == plain);
    CHECK(run_scene(&s, i, BLIS_ENGINE_FAST, true) == plain);
    site_deinit(&s.site);
  }
  printf("# loads %lld, failed %lld, canceled %lld, promoted %lld, dropped "
         "%lld, preempted %lld, from peers %lld\n",
         (long long)all_loads, (long long)all_failed, (long long)all_canceled,
         (long long)all_promoted, (long long)all_dropped,
         (long long)all_preempted, (long long)all_peers);
}

static blis_status run_for_memory(site *s, blis_error *error) {
  return site_try_run(s, error);
}

static void memory_may_run_out(void) {
  scene s = {0};
  draw_scene(&s, 12);
  s.has_pools = false;
  for (uint32_t i = 0; i < s.site.config.instance_count; i++) {
    s.facts[i].roles = 0;
  }
  for (long request = 1;
       !site_run_with_failure_at(&s.site, request, run_for_memory);
       request += 1 + request / 40) {
  }
  s.site.alloc = blis_alloc_heap();
  site_deinit(&s.site);
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

int main(int argc, char **argv) {
  const char *wanted = argc > 1 ? argv[1] : getenv("BLIS_CASES");
  case_count = wanted != NULL ? strtoll(wanted, NULL, 10) : case_count;
  first_case = argc > 2 ? strtoll(argv[2], NULL, 10) : first_case;
  RUN(loads_what_is_faster);
  RUN(shared_links);
  RUN(stages);
  RUN(blocks_add_up);
  RUN(deep_blocks_leave_first);
  RUN(deep_blocks_are_used_last);
  RUN(estimates_know_of_other_readers);
  RUN(a_threshold_saves_writes);
  RUN(only_whole_chunks_hit);
  RUN(evicted_blocks_go_on);
  RUN(evictions_of_the_cache_are_saved);
  RUN(peers);
  RUN(losses);
  RUN(comings_and_goings);
  RUN(empty_tiers_change_nothing);
  RUN(what_is_wrong_is_told);
  RUN(memory_may_run_out);
  RUN(engines_agree);
  return check_done();
}
