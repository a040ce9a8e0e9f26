/*
 * Data-parallel ranks at their barriers, on random clusters, some of which
 * balance themselves: passes of a group never overlap and end together, every
 * request ends once, both engines and both ways to drive a cluster agree, a
 * group of one is no group, and ranks come and go with their group.
 */
#include "cluster/ranks/ranks.h"
#include "cluster_fixture.h"
#include "engine_rules.h"

enum { REQUESTS = 120, SEEDS = CASES(150), ACTS = 6, STEPS_MAX = 1 << 15 };

typedef struct seen_step {
  uint32_t group;
  int64_t start_us;
  int64_t end_us;
} seen_step;

typedef struct scene {
  site site;
  blis_rank_config ranks;
  blis_step_sink sink;
  seen_step *steps;
  size_t count;
} scene;

typedef struct act {
  uint32_t index;
  int kind;
} act;

static int32_t draw(blis_random *random, int32_t n) {
  return blis_random_intn(random, n);
}

static blis_status see(void *ud, uint32_t instance, const blis_step_report *report,
                       blis_error *error) {
  scene *s = ud;
  (void)error;
  CHECK(s->count < STEPS_MAX && report->end_us > report->start_us);
  s->steps[s->count++] = (seen_step){instance / s->ranks.count, report->start_us, report->end_us};
  return BLIS_OK;
}

static void scene_init(scene *s, int64_t seed) {
  static const char *const policies[] = {"round-robin", "least-loaded", "weighted",
                                         "always-busiest"};
  blis_random random;
  blis_random_init_named(&random, seed, "ranks");
  *s = (scene){.ranks = {.count = 1 + (uint32_t)draw(&random, 4),
                         .has_barrier = draw(&random, 4) != 0,
                         .dummy_us = draw(&random, 3) * 4000 - 4000,
                         .sync_every = 1 + draw(&random, 6),
                         .prefill_interval = 1 + draw(&random, 4),
                         .expert_factor = draw(&random, 3) == 0 ? 1.3 : 1}};
  uint32_t groups = 1 + (uint32_t)draw(&random, 3);
  site_init(&s->site, blis_alloc_heap(), groups * s->ranks.count);
  s->site.policy = policies[draw(&random, 4)];
  s->site.seed = seed;
  blis_engine_rules rules = draw_engine_rules(&random);
  int64_t blocks = 60 + draw(&random, 200);
  int64_t seqs = 1 + draw(&random, 12);
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    blis_instance_config *c = &s->site.instances[i];
    c->rules = rules;
    c->kv_blocks = blocks;
    c->max_num_seqs = seqs;
    c->ranks = &s->ranks;
  }
  site_add_random_requests(&s->site, REQUESTS, draw(&random, 2) == 0 ? 4 : 60, seed);
  for (size_t i = 0; i < REQUESTS; i++) {
    blis_request *r = &s->site.source.requests[i];
    r->deadline_us = draw(&random, 8) == 0 ? r->arrival_us + 300000 : 0;
  }
  s->ranks.balances_itself = draw(&random, 3) == 0;
  s->ranks.clients = 1 + (uint32_t)draw(&random, 3);
  s->ranks.publish_us = draw(&random, 3) * 40000;
}

static void set_engine(scene *s, blis_engine_kind engine) {
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].engine = engine;
  }
}

static uint64_t hash_by_steps(scene *s) {
  blis_error error;
  site_must_open(&s->site);
  CHECK_OK(site_step_to_end(&s->site, NULL, &error), &error);
  CHECK_OK(blis_cluster_finish(s->site.cluster, &error), &error);
  uint64_t hash = blis_recorder_hash(s->site.recorder);
  site_close(&s->site);
  return hash;
}

static int by_start(const void *a, const void *b) {
  const seen_step *x = a;
  const seen_step *y = b;
  if (x->group != y->group) {
    return x->group < y->group ? -1 : 1;
  }
  return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

/* Those that begin together end so, before the next ones begin. */
static void check_passes(scene *s) {
  qsort(s->steps, s->count, sizeof *s->steps, by_start);
  for (size_t i = 1; i < s->count; i++) {
    const seen_step *a = &s->steps[i - 1];
    const seen_step *b = &s->steps[i];
    if (a->group != b->group) {
      continue;
    }
    if (a->start_us == b->start_us) {
      CHECK_EQ_I64(a->end_us, b->end_us);
    } else {
      CHECK(a->end_us <= b->start_us);
    }
  }
}

static void check_counts(const scene *s) {
  blis_rank_counts c;
  blis_cluster_get_ranks(s->site.cluster, &c);
  CHECK((c.passes > 0) == (s->ranks.has_barrier && s->ranks.count > 1));
  CHECK_EQ_I64(c.rank_passes, c.passes * s->ranks.count);
  CHECK(c.dummy_passes <= c.rank_passes && c.own_us <= c.pass_us);
  CHECK(c.running <= c.most_running * (1 + 1e-9));
  CHECK(c.most_kv_blocks <= c.kv_blocks * s->ranks.count * (1 + 1e-9));
}

static void passes_of_a_group_end_together(void) {
  seen_step *room = calloc(STEPS_MAX, sizeof *room);
  CHECK(room != NULL);
  for (int64_t seed = 0; seed < SEEDS; seed++) {
    scene s;
    scene_init(&s, seed);
    uint64_t hash = site_hash(&s.site);
    CHECK(hash_by_steps(&s) == hash);
    set_engine(&s, BLIS_ENGINE_FAST);
    CHECK(site_hash(&s.site) == hash);
    s.steps = room;
    s.sink = (blis_step_sink){.ud = &s, .step = see};
    s.site.config.steps = &s.sink;
    site_must_open(&s.site);
    site_run(&s.site);
    CHECK(blis_recorder_hash(s.site.recorder) == hash);
    site_check_states_sum_up(&s.site, REQUESTS);
    site_check_counters_are_zero(&s.site);
    check_counts(&s);
    if (s.ranks.has_barrier && s.ranks.count > 1) {
      check_passes(&s);
    }
    site_deinit(&s.site);
  }
  free(room);
}

static void a_group_of_one_is_no_group(void) {
  for (int64_t seed = 0; seed < 60; seed++) {
    scene s;
    scene_init(&s, seed);
    s.ranks.count = 1;
    s.ranks.has_barrier = true;
    s.ranks.prefill_interval = 1;
    s.ranks.expert_factor = 1;
    uint64_t hash = site_hash(&s.site);
    for (uint32_t i = 0; i < s.site.config.instance_count; i++) {
      s.site.instances[i].ranks = NULL;
    }
    CHECK(site_hash(&s.site) == hash);
    site_deinit(&s.site);
  }
}

static blis_status do_act(void *ud, blis_cluster *cluster, blis_error *error) {
  const act *a = ud;
  switch (a->kind) {
  case 0:
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){.kind = BLIS_LOSS_REROUTED},
                                      error);
  case 1:
    return blis_cluster_instance_drain(cluster, a->index, true, error);
  case 2:
    return blis_cluster_instance_slow(cluster, a->index, 2.5, error);
  default:
    return blis_cluster_instance_restore(cluster, a->index, error);
  }
}

static void check_states(const scene *s) {
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    uint32_t first = i - i % s->ranks.count;
    CHECK(blis_cluster_instance_service(s->site.cluster, i) ==
          blis_cluster_instance_service(s->site.cluster, first));
  }
}

static void run_with_states(scene *s) {
  blis_error error;
  bool done = false;
  while (!done) {
    CHECK_OK(blis_cluster_step(s->site.cluster, &done, &error), &error);
    check_states(s);
  }
  CHECK_OK(blis_cluster_finish(s->site.cluster, &error), &error);
}

static void faults_lose_nobody(void) {
  for (int64_t seed = 0; seed < 60; seed++) {
    scene s;
    act acts[ACTS];
    blis_error error;
    blis_random random;
    blis_random_init_named(&random, seed, "acts");
    scene_init(&s, seed);
    site_must_open(&s.site);
    int64_t last_us = s.site.source.requests[REQUESTS - 1].arrival_us;
    for (int i = 0; i < ACTS; i++) {
      acts[i] = (act){(uint32_t)draw(&random, (int32_t)s.site.config.instance_count),
                      (int)draw(&random, 4)};
      CHECK_OK(blis_cluster_call_at(s.site.cluster, draw(&random, (int32_t)last_us), do_act,
                                    &acts[i], &error),
               &error);
    }
    run_with_states(&s);
    site_check_states_sum_up(&s.site, REQUESTS);
    site_check_counters_are_zero(&s.site);
    site_deinit(&s.site);
  }
}

static void groups_are_whole(void) {
  scene s;
  blis_error error = {0};
  scene_init(&s, 1);
  s.ranks.count = s.site.config.instance_count + 2;
  CHECK(site_open(&s.site, &error) == BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "instance_0: its group has") != NULL);
  site_deinit(&s.site);
}

static void memory_may_run_out(void) {
  scene s;
  scene_init(&s, 3);
  s.ranks.count = s.site.config.instance_count;
  CHECK(s.ranks.count > 1);
  s.ranks.has_barrier = true;
  s.site.source.count = 12;
  for (int balance = 0; balance < 2; balance++) {
    bool done = false;
    s.ranks.balances_itself = balance == 1;
    for (long at = 1; !done; at++) {
      done = site_run_with_failure_at(&s.site, at, site_try_run);
    }
  }
  s.site.source.count = REQUESTS;
  site_deinit(&s.site);
}

int main(void) {
  RUN(passes_of_a_group_end_together);
  RUN(a_group_of_one_is_no_group);
  RUN(faults_lose_nobody);
  RUN(groups_are_whole);
  RUN(memory_may_run_out);
  return check_done();
}
