/*
 * Random clusters with KV tiers, preemptions, pools, faults and deadlines, in
 * which every request ends once, no block is lost or held, the links carry what
 * the jobs say, and both engines agree. Arguments: how many cases (default 150)
 * and the number of the first one.
 */
#include "base/hash.h"
#include "cluster/handoff/handoff.h"
#include "cluster/tiers/kv_tiers.h"
#include "tiers_scene.h"

enum { REQUESTS = 150, ACTS = 6 };

typedef struct act {
  uint32_t index;
  int kind;
} act;

static blis_status do_act(void *ud, blis_cluster *cluster, blis_error *error) {
  const act *a = ud;
  switch (a->kind) {
  case 0:
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){.kind = BLIS_LOSS_REROUTED},
                                      error);
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

static blis_status half_of_it(void *ud, const blis_kv_offer *offer, int64_t *tokens,
                              blis_error *error) {
  (void)ud;
  (void)error;
  int64_t sum = 0;
  for (int t = 0; t < BLIS_KV_TIERS_MAX; t++) {
    sum += offer->tier_tokens[t];
  }
  CHECK_EQ_I64(sum, offer->offered_tokens);
  CHECK(offer->load_us >= 0);
  *tokens = offer->request->number % 3 == 0 ? offer->offered_tokens : offer->offered_tokens / 2;
  return BLIS_OK;
}

static blis_status deep_ones_leave(void *ud, const blis_kv_sight *sight, double *score,
                                   blis_error *error) {
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
    blis_kv_tier *tier =
        add_tier(s, "tier", sizes[blis_random_intn(random, 5)],
                 (blis_tier_scope)blis_random_intn(random, 3), draw_bandwidth(random));
    tier->write_bytes_per_us = draw_bandwidth(random) * 1000;
    tier->is_half_duplex = blis_random_intn(random, 4) == 0;
    tier->latency_us = blis_random_intn(random, 3) * 333.3;
    tier->policy = (blis_tier_policy)blis_random_intn(random, BLIS_TIER_POLICY_COUNT);
    tier->threshold = blis_random_intn(random, 4);
    tier->promotes = blis_random_intn(random, 3) > 0;
    tier->survives = blis_random_intn(random, 3) == 0;
    tier->is_shared = tier->scope == BLIS_TIER_OF_INSTANCE && blis_random_intn(random, 2) == 0;
    if (blis_random_intn(random, 12) == 0) {
      tier->saving = BLIS_TIER_ON_EVICT; /* what the caches evict */
    }
    if (blis_random_intn(random, 4) == 0) {
      tier->evict_above = 0.5 + 0.1 * blis_random_intn(random, 6);
      tier->evict_share = 0.05 + 0.1 * blis_random_intn(random, 4);
    }
    int stage = blis_random_intn(random, t + 1) - 1;
    if (stage >= 0 && s->tiers[stage].stage < 0 && s->tiers[stage].scope <= tier->scope) {
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
  s->has_pools = s->site.config.instance_count > 1 && blis_random_intn(random, 3) == 0;
  s->pools = (blis_disaggregation){.bytes_per_us = 100,
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
  static const char *const policies[] = {"round-robin", "least-loaded", "weighted"};
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
  site_add_random_requests(&s->site, REQUESTS, 5 + blis_random_intn(&random, 100), seed);
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
  CHECK_OK(blis_router_create(&heap, "round-robin", NULL, &context, &pools.prefill, &error),
           &error);
  CHECK_OK(blis_decider_create(&heap, "always", NULL, &context, &pools.decider, &error), &error);
  CHECK_OK(blis_cluster_set_disaggregation(s->site.cluster, &pools, &error), &error);
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
  site_check_states_sum_up(&s->site, s->site.config.horizon_us == BLIS_TIME_NEVER_US
                                         ? REQUESTS
                                         : (int64_t)blis_recorder_count(s->site.recorder));
  return hash ^ blis_hash64(&c, sizeof c, 1);
}

static void check_tiers(const site *s) {
  CHECK(blis_cluster_check_kv_tiers(s->cluster));
}

static uint64_t run_scene(scene *s, int64_t seed, blis_engine_kind engine, bool by_steps) {
  static act acts[ACTS];
  blis_random random;
  blis_random_init_named(&random, seed, "acts");
  uint32_t count = s->site.config.instance_count;
  blis_error error;
  use_engine(s, engine);
  open_scene(s);
  for (int i = 0; i < ACTS && seed % 2 == 0; i++) {
    acts[i] = (act){.index = (uint32_t)blis_random_intn(&random, (int32_t)count),
                    .kind = i == 0 ? 4 : blis_random_intn(&random, 6)};
    CHECK_OK(blis_cluster_call_at(s->site.cluster, blis_random_intn(&random, 3000000), do_act,
                                  &acts[i], &error),
             &error);
  }
  if (by_steps) {
    CHECK_OK(site_step_to_end(&s->site, check_tiers, &error), &error);
  }
  site_run(&s->site);
  uint64_t hash = check_books(s, seed % 2 != 0 && s->site.config.horizon_us == BLIS_TIME_NEVER_US);
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
         (long long)all_promoted, (long long)all_dropped, (long long)all_preempted,
         (long long)all_peers);
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
  for (long request = 1; !site_run_with_failure_at(&s.site, request, run_for_memory);
       request += 1 + request / 40) {
  }
  s.site.alloc = blis_alloc_heap();
  site_deinit(&s.site);
}
int main(int argc, char **argv) {
  const char *wanted = argc > 1 ? argv[1] : getenv("BLIS_CASES");
  case_count = wanted != NULL ? strtoll(wanted, NULL, 10) : CASES(case_count);
  first_case = argc > 2 ? strtoll(argv[2], NULL, 10) : first_case;
  RUN(memory_may_run_out);
  RUN(engines_agree);
  return check_done();
}
