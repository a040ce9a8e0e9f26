/*
 * Whole clusters drawn at random: unequal instances and models, faults,
 * admission, budgets, stale signals, sessions, horizons, every policy. Whatever
 * they are, every request ends once, the books are right, policies are shown
 * what the rules of freshness say, and both engines, driven in whatever way,
 * agree.
 */
#include "cluster/rules/tenant_budgets.h"
#include "cluster/watch/cache_belief.h"
#include "cluster/watch/decision_sink.h"
#include "cluster_fixture.h"
#include "engine_rules.h"
#include "policy/contract/tie.h"
#include "policy/registry.h"

enum { REQUESTS = 250, INSTANCES_MAX = 6, ACTS = 12 };

typedef enum act_kind { FAIL, FAIL_OVER, DRAIN, HAND_OVER, RESTORE, SLOW } act_kind;

struct scene;

typedef struct act {
  struct scene *scene;
  int64_t at_us;
  act_kind kind;
  uint32_t index;
  double factor;
} act;

/* What an instance showed when it was read last. */
typedef struct reading {
  int64_t at_us;
  double values[BLIS_SIGNAL_COUNT];
} reading;

typedef struct scene {
  site site;
  int64_t seed;
  blis_instance_facts facts[INSTANCES_MAX];
  blis_tenant_budget budget;
  blis_tenant_budgets budgets;
  act acts[ACTS];
  const blis_policy_entry *admission;
  bool has_sessions;

  /* The witness. */
  blis_decision_sink sink;
  reading readings[INSTANCES_MAX];
  int64_t looks;
  int64_t trees;
  int64_t extremes;
} scene;

static int32_t draw(blis_random *random, int32_t n) {
  return blis_random_intn(random, n);
}

static int64_t draw_of(blis_random *random, const int64_t *values, int32_t n) {
  return values[draw(random, n)];
}

#define DRAW(random, ...)                                                                          \
  draw_of(random, (const int64_t[]){__VA_ARGS__},                                                  \
          (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* Drawing. */

static const char *const models[] = {"", "a/one", "a/two", "A/ONE"};

static void draw_instances(scene *s, blis_random *random) {
  bool are_unequal = draw(random, 2) == 0;
  blis_random rules;
  blis_random_init_named(&rules, s->seed, "rules");
  s->site.instances[0].rules = draw_engine_rules(&rules);
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    blis_instance_config *c = &s->site.instances[i];
    *c = s->site.instances[0];
    s->facts[i] = s->facts[0];
    if (i == 0 || are_unequal) {
      c->kv_blocks = DRAW(random, 90, 400, 2000);
      c->block_size_tokens = DRAW(random, 8, 16, 32);
      c->max_num_seqs = DRAW(random, 1, 4, 64);
      c->max_batched_tokens = DRAW(random, 256, 2048);
      s->facts[i] = (blis_instance_facts){.model = models[draw(random, 3)], .capacity = 1};
    }
  }
}

static void draw_requests(scene *s, blis_random *random) {
  site *where = &s->site;
  site_add_random_requests(where, REQUESTS, (double)DRAW(random, 5, 40, 200), s->seed);
  uint32_t names[4];
  for (int i = 0; i < 4; i++) {
    CHECK(blis_intern_add(where->strings, models[i], strlen(models[i]), &names[i]) == BLIS_OK);
  }
  bool name_models = draw(random, 2) == 0;
  for (size_t i = 0; i < REQUESTS; i++) {
    blis_request *r = &where->source.requests[i];
    r->model = name_models ? names[draw(random, 4)] : 0;
    r->deadline_us = draw(random, 6) == 0 ? r->arrival_us + 400000 : 0;
  }
}

static void draw_acts(scene *s, blis_random *random) {
  int64_t last_us = s->site.source.requests[REQUESTS - 1].arrival_us;
  uint32_t count = s->site.config.instance_count;
  for (int i = 0; i < ACTS; i++) {
    s->acts[i] = (act){.scene = s,
                       .at_us = (int64_t)(blis_random_float64(random) * (double)last_us),
                       .kind = (act_kind)draw(random, SLOW + 1),
                       .index = (uint32_t)draw(random, (int32_t)count),
                       .factor = (double)DRAW(random, 1, 2, 9)};
  }
}

static void draw_config(scene *s, blis_random *random) {
  blis_cluster_config *c = &s->site.config;
  c->snapshot_refresh_us = DRAW(random, 0, 0, 1, 50000, 700000, BLIS_TIME_NEVER_US);
  c->cache_signal_delay_us = DRAW(random, 0, 0, 50000, 900000, BLIS_TIME_NEVER_US);
  c->admission_latency_us = DRAW(random, 0, 0, 300, 30000);
  c->routing_latency_us = DRAW(random, 0, 0, 400, 20000);
  c->horizon_us = DRAW(random, BLIS_TIME_NEVER_US, BLIS_TIME_NEVER_US, 900000);
  c->load_counts_in_flight = draw(random, 2) == 0;
  c->oracle = draw(random, 2) == 0;
  c->facts = s->facts;
  s->budget = (blis_tenant_budget){.tenant = "batch", .share = 0.1};
  s->budgets = (blis_tenant_budgets){&s->budget, (size_t)draw(random, 2)};
  c->options[BLIS_FEATURE_TENANTS] = &s->budgets;
}

/* A second turn for half of those that complete. */
static blis_status follow(void *state, const blis_request *request,
                          const blis_request_outcome *outcome, blis_request *follow_up,
                          bool *has_follow_up, blis_error *error) {
  (void)state, (void)error;
  *has_follow_up = outcome->is_completed && request->round_index == 0 && request->number % 2 == 1;
  if (*has_follow_up) {
    *follow_up = *request;
    follow_up->arrival_us = outcome->end_us + request->number * 100;
    follow_up->deadline_us = 0;
    follow_up->number = -request->number;
    follow_up->round_index = 1;
  }
  return BLIS_OK;
}

static void scene_init(scene *s, int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  *s = (scene){.seed = seed};
  site_init(&s->site, blis_alloc_heap(), 1 + (uint32_t)draw(&random, INSTANCES_MAX));
  draw_instances(s, &random);
  draw_requests(s, &random);
  draw_acts(s, &random);
  draw_config(s, &random);
  size_t policies = blis_policy_count(BLIS_POLICY_ROUTER);
  size_t policy = (size_t)draw(&random, (int32_t)policies);
  s->site.policy = blis_policy_at(BLIS_POLICY_ROUTER, policy)->name;
  s->site.go_blis = draw(&random, 2) == 0;
  int32_t admissions = (int32_t)blis_policy_count(BLIS_POLICY_ADMISSION);
  s->admission = blis_policy_at(BLIS_POLICY_ADMISSION, (size_t)draw(&random, admissions));
  if (draw(&random, 3) == 0) {
    s->site.source.source.ended = follow;
  }
}

/* The witness: an account of its own of what there is to be seen. */

static const blis_signal engine_signals[] = {
    BLIS_SIGNAL_QUEUE_DEPTH,    BLIS_SIGNAL_BATCH_SIZE,  BLIS_SIGNAL_KV_UTILIZATION,
    BLIS_SIGNAL_FREE_KV_BLOCKS, BLIS_SIGNAL_PREEMPTIONS, BLIS_SIGNAL_CACHE_HIT_RATE};

enum { ENGINE_SIGNALS = sizeof engine_signals / sizeof *engine_signals };

static bool serves(const scene *s, uint32_t i, uint32_t model) {
  const char *wanted = blis_intern_text(s->site.strings, model);
  const char *served = s->facts[i].model;
  bool is_same =
      strcmp(served, wanted) == 0 || (strcmp(served, "a/one") == 0 && strcmp(wanted, "A/ONE") == 0);
  return blis_cluster_instance_service(s->site.cluster, i) == BLIS_SERVICE_ACTIVE &&
         (*wanted == '\0' || *served == '\0' || is_same);
}

/* Somebody looks at the candidates for a model; how many there are. */
static size_t look(scene *s, uint32_t model, int64_t now_us) {
  const site *where = &s->site;
  size_t count = 0;
  for (uint32_t i = 0; i < where->config.instance_count; i++) {
    if (!serves(s, i, model)) {
      continue;
    }
    count++;
    reading *r = &s->readings[i];
    if (now_us - r->at_us >= where->config.snapshot_refresh_us) {
      r->at_us = now_us;
      for (int k = 0; k < ENGINE_SIGNALS; k++) {
        r->values[engine_signals[k]] = blis_cluster_signal(where->cluster, i, engine_signals[k]);
      }
    }
  }
  return count;
}

static void check_candidate(const scene *s, const blis_routing_view *view, size_t k) {
  const site *where = &s->site;
  uint32_t i = view->instances[k];
  const double *shown[BLIS_SIGNAL_COUNT];
  memcpy(shown, view->columns, sizeof shown);
  for (int e = 0; e < ENGINE_SIGNALS; e++) {
    CHECK_EQ_DOUBLE(shown[engine_signals[e]][k], s->readings[i].values[engine_signals[e]]);
  }
  double pending = shown[BLIS_SIGNAL_PENDING][k];
  double in_flight = shown[BLIS_SIGNAL_IN_FLIGHT][k];
  double queued = shown[BLIS_SIGNAL_QUEUE_DEPTH][k];
  double running = shown[BLIS_SIGNAL_BATCH_SIZE][k];
  CHECK_EQ_DOUBLE(in_flight, pending +
                                 blis_cluster_signal(where->cluster, i, BLIS_SIGNAL_QUEUE_DEPTH) +
                                 blis_cluster_signal(where->cluster, i, BLIS_SIGNAL_BATCH_SIZE));
  CHECK_EQ_DOUBLE(shown[BLIS_SIGNAL_REQUESTS][k], in_flight);
  CHECK_EQ_DOUBLE(shown[BLIS_SIGNAL_EFFECTIVE_LOAD][k],
                  queued + running + (where->config.load_counts_in_flight ? in_flight : pending));
  const blis_instance_config *c = &where->instances[i];
  double block_size = (double)c->block_size_tokens;
  double cached_blocks = shown[BLIS_SIGNAL_CACHED_TOKENS][k] / block_size;
  CHECK(cached_blocks == (double)(int64_t)cached_blocks);
  CHECK(shown[BLIS_SIGNAL_PREFIX_HIT][k] >= 0 && shown[BLIS_SIGNAL_PREFIX_HIT][k] <= 1);
  CHECK(shown[BLIS_SIGNAL_TIERED_PREFIX_HIT][k] ==
        shown[BLIS_SIGNAL_PREFIX_HIT][k]); /* there are no tiers */
  CHECK(where->config.cache_signal_delay_us > 0 ||
        shown[BLIS_SIGNAL_PREFIX_HIT][k] == shown[BLIS_SIGNAL_LIVE_PREFIX_HIT][k]);
  CHECK(shown[BLIS_SIGNAL_PENDING_PREFILL_TOKENS][k] >= 0 &&
        (in_flight > 0 || shown[BLIS_SIGNAL_PENDING_PREFILL_TOKENS][k] == 0));
  CHECK_EQ_DOUBLE(shown[BLIS_SIGNAL_KV_BLOCKS][k], (double)c->kv_blocks);
  CHECK_EQ_DOUBLE(shown[BLIS_SIGNAL_MAX_NUM_SEQS][k], (double)c->max_num_seqs);
}

/* What is kept up of the column says what the column says. */
static void check_least_load(const blis_routing_view *view) {
  const double *loads = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  blis_tie lowest;
  blis_tie last;
  blis_tie_init(&lowest, BLIS_TIE_LOWEST_ID, 1, "test");
  blis_tie_init(&last, BLIS_TIE_LAST, 1, "test");
  CHECK_EQ_I64(blis_tie_pick_least(&lowest, view->least_load),
               blis_tie_pick_min(&lowest, loads, view));
  CHECK_EQ_I64(blis_tie_pick_least(&last, view->least_load), blis_tie_pick_min(&last, loads, view));
}

static bool check_extremes(const blis_routing_view *view) {
  int kept = 0;
  for (int s = 0; s < BLIS_SIGNAL_COUNT && view->extremes != NULL; s++) {
    if (view->extremes[s] != NULL) {
      CHECK(view->extremes[s]->levels[0].least == view->columns[s]);
      CHECK_EQ_I64(view->extremes[s]->levels[0].count, view->count);
      CHECK(blis_extremes_check(view->extremes[s]));
      kept++;
    }
  }
  return kept > 0;
}

static blis_status see_admission(void *ud, const blis_admission_event *event, blis_error *error) {
  (void)error;
  look(ud, event->request->model, event->now_us);
  return BLIS_OK;
}

static blis_status see_routing(void *ud, const blis_routing_event *event, blis_error *error) {
  (void)error;
  scene *s = ud;
  const blis_routing_view *view = event->view;
  CHECK_EQ_I64(look(s, event->request->model, event->now_us), view->count);
  CHECK_EQ_I64(view->now_us, event->now_us);
  CHECK_EQ_I64(event->request->output_tokens >= 0, s->site.config.oracle);
  for (size_t k = 0; k < view->count; k++) {
    CHECK(k == 0 || view->instances[k - 1] < view->instances[k]);
    CHECK(serves(s, view->instances[k], event->request->model));
    check_candidate(s, view, k);
  }
  if (view->least_load != NULL) {
    check_least_load(view);
    s->trees++;
  }
  s->extremes += check_extremes(view);
  s->looks++;
  return BLIS_OK;
}

static void watch(scene *s) {
  s->sink = (blis_decision_sink){.admission = see_admission,
                                 .routing = see_routing,
                                 .ud = s,
                                 .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_COUNT) - 1};
  s->site.config.decisions = &s->sink;
}

/* Driving. */

static blis_status do_act(void *ud, blis_cluster *cluster, blis_error *error) {
  const act *a = ud;
  switch (a->kind) {
  case FAIL:
  case FAIL_OVER:
    return blis_cluster_instance_fail(
        cluster, a->index,
        (blis_loss){.kind = a->kind == FAIL_OVER ? BLIS_LOSS_REROUTED : BLIS_LOSS_USUAL}, error);
  case DRAIN:
  case HAND_OVER:
    return blis_cluster_instance_drain(cluster, a->index, a->kind == HAND_OVER, error);
  case RESTORE:
    break;
  case SLOW:
    return blis_cluster_instance_slow(cluster, a->index, a->factor, error);
  }
  blis_service service = blis_cluster_instance_service(cluster, a->index);
  if (service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_DRAINED) {
    a->scene->readings[a->index] = (reading){.at_us = 0};
  }
  return blis_cluster_instance_restore(cluster, a->index, error);
}

static void open_scene(scene *s, blis_engine_kind engine) {
  site *where = &s->site;
  blis_error error;
  for (uint32_t i = 0; i < where->config.instance_count; i++) {
    where->instances[i].engine = engine;
  }
  memset(s->readings, 0, sizeof s->readings);
  site_must_open(where);
  blis_policy_context context = site_context(where);
  blis_admission admission = {0};
  CHECK_OK(
      blis_admission_create(&where->alloc, s->admission->name, NULL, &context, &admission, &error),
      &error);
  site_set_admission(where, &admission);
  for (int i = 0; i < ACTS; i++) {
    CHECK_OK(blis_cluster_call_at(where->cluster, s->acts[i].at_us, do_act, &s->acts[i], &error),
             &error);
  }
}

typedef enum drive { AT_ONCE, BY_STEPS, IN_STRETCHES } drive;

static void drive_to_end(scene *s, drive how) {
  blis_cluster *cluster = s->site.cluster;
  blis_error error;
  bool done = false;
  for (int64_t n = 1; how == BY_STEPS && !done; n++) {
    CHECK_OK(blis_cluster_step(cluster, &done, &error), &error);
  }
  for (int64_t t = 0; how == IN_STRETCHES && t < 60; t++) {
    CHECK_OK(blis_cluster_run_until(cluster, t * 33333, &error), &error);
    for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
      CHECK(blis_instance_check(blis_cluster_instance(cluster, i)));
    }
  }
  site_run(&s->site);
}

static void check_books(scene *s) {
  site *where = &s->site;
  blis_cluster_counts c;
  blis_cluster_get_counts(where->cluster, &c);
  site_check_states_sum_up(where, c.arrived);
  if (where->config.horizon_us == BLIS_TIME_NEVER_US) {
    CHECK(c.arrived >= REQUESTS);
    CHECK_EQ_I64(c.unfinished, 0);
    site_check_counters_are_zero(where);
  }
  blis_cache_belief belief;
  blis_cluster_get_cache_belief(where->cluster, &belief);
  CHECK_EQ_I64(belief.true_tokens - belief.predicted_tokens,
               belief.unknown_tokens - belief.missing_tokens);
  CHECK(belief.true_tokens >= 0 && belief.predicted_tokens >= 0);
  CHECK(belief.true_tokens <= belief.prompt_tokens);
  CHECK(belief.predicted_tokens <= belief.prompt_tokens);
  /* Nobody is there twice. */
  size_t count = blis_recorder_count(where->recorder);
  const blis_record *records = site_records(where);
  bool is_seen[2 * REQUESTS] = {false};
  for (size_t i = 0; i < count; i++) {
    int64_t place = records[i].number + REQUESTS;
    CHECK(place >= 0 && place < 2 * REQUESTS && !is_seen[place]);
    is_seen[place] = true;
  }
}

static uint64_t hash_of(scene *s, blis_engine_kind engine, drive how) {
  open_scene(s, engine);
  drive_to_end(s, how);
  check_books(s);
  uint64_t hash = blis_recorder_hash(s->site.recorder);
  site_close(&s->site);
  return hash;
}

/* What the witness has seen. */
typedef struct sights {
  int64_t looks;
  int64_t trees;
  int64_t extremes;
} sights;

static void check_scene(int64_t seed, sights *seen) {
  scene s;
  scene_init(&s, seed);
  if (seed % 20 == 0) {
    s.site.policy = "least-loaded";
  } else if (seed % 10 == 5) {
    s.site.policy = "weighted";
  }
  uint64_t hash = hash_of(&s, BLIS_ENGINE_STEPWISE, AT_ONCE);
  bool is_equal = hash == hash_of(&s, BLIS_ENGINE_FAST, AT_ONCE) &&
                  hash == hash_of(&s, BLIS_ENGINE_FAST, BY_STEPS) &&
                  hash == hash_of(&s, BLIS_ENGINE_FAST, IN_STRETCHES) &&
                  hash == hash_of(&s, BLIS_ENGINE_STEPWISE, BY_STEPS);
  watch(&s);
  is_equal = is_equal && hash == hash_of(&s, BLIS_ENGINE_FAST, AT_ONCE);
  if (!is_equal) {
    fprintf(stderr, "scene %" PRId64 ", policy %s, admission %s\n", seed, s.site.policy,
            s.admission->name);
  }
  CHECK(is_equal);
  site_deinit(&s.site);
  seen->looks += s.looks;
  seen->trees += s.trees;
  seen->extremes += s.extremes;
}

static void engines_and_witness_agree_whatever_happens(void) {
  sights seen = {0};
  for (int64_t seed = 1; seed <= 400; seed++) {
    check_scene(seed, &seen);
  }
  CHECK(seen.looks > 20000 && seen.trees > 500 && seen.extremes > 500);
}

int main(void) {
  RUN(engines_and_witness_agree_whatever_happens);
  return check_done();
}
