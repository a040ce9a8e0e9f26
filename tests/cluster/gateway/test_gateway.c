/*
 * The gateway's queue: when requests leave it, worked out by hand, and random
 * clusters in which every request ends once and both engines agree. Arguments:
 * how many random cases (default 300) and the number of the first one.
 */
#include <string.h>

#include "base/hash.h"
#include "cluster/gateway/gateway.h"
#include "cluster_fixture.h"

enum { SECOND_US = 1000000, REQUESTS = 150, ACTS = 5 };

typedef struct scene {
  site site;
  blis_gateway policy;
  const char *detector;
  const char *limit;
  blis_param params[4];
  size_t param_count;
  blis_param limit_param;
  bool is_watched; /* the detector must be asked at every chance */
} scene;

static void begin(scene *s, uint32_t instances) {
  site_init(&s->site, blis_alloc_heap(), instances);
  s->detector = "concurrency";
  s->limit = "static";
  s->policy = (blis_gateway){.cycle_us = 1000, .sweep_us = 1};
}

/* Like the one that it stands for, but nobody knows that it is pure. */
static blis_saturation_ops watched;

static void open_scene(scene *s) {
  blis_alloc heap = blis_alloc_heap();
  blis_error error;
  blis_policy_context context = site_context(&s->site);
  const blis_params params = {.items = s->params, .count = s->param_count};
  const blis_params limit = {.items = &s->limit_param, .count = s->limit_param.name != NULL};
  blis_gateway policy = s->policy;
  site_must_open(&s->site);
  if (policy.saturation.ops == NULL) {
    CHECK_OK(
        blis_saturation_create(&heap, s->detector, &params, &context, &policy.saturation, &error),
        &error);
  }
  if (s->is_watched) {
    watched = *policy.saturation.ops;
    watched.is_pure = false;
    policy.saturation.ops = &watched;
  }
  CHECK_OK(blis_usage_limit_create(&heap, s->limit, &limit, &context, &policy.usage_limit, &error),
           &error);
  CHECK_OK(blis_cluster_set_gateway(s->site.cluster, &policy, &error), &error);
}

static blis_gateway_counts counts_of(const scene *s) {
  blis_gateway_counts counts;
  blis_cluster_get_gateway(s->site.cluster, &counts);
  return counts;
}

static void run_to(scene *s, int64_t time_us) {
  blis_error error;
  CHECK_OK(blis_cluster_run_until(s->site.cluster, time_us, &error), &error);
}

/* In the order of arrival. */
static const blis_record *records_of(scene *s) {
  CHECK(blis_recorder_sort(s->site.recorder) == BLIS_OK);
  return site_records(&s->site);
}

static void set_number(scene *s, const char *name, double value) {
  s->params[s->param_count++] = (blis_param){.name = name, .number = value};
}

/* All at once; classes in turn, from the most important one. */
static void add_burst(scene *s, size_t count, int64_t at_us, uint32_t output_tokens,
                      size_t class_count) {
  static const char *const names[] = {"critical", "standard", "batch"};
  uint32_t classes[3];
  for (size_t i = 0; i < 3; i++) {
    CHECK(blis_intern_add(s->site.strings, names[i], strlen(names[i]), &classes[i]) == BLIS_OK);
  }
  site_add_requests(&s->site, count);
  for (size_t i = 0; i < count; i++) {
    blis_request *r = &s->site.source.requests[i];
    r->arrival_us = at_us;
    r->prompt_tokens = 16;
    r->output_tokens = output_tokens;
    r->max_output_tokens = output_tokens;
    r->slo_class = classes[i % class_count];
  }
}

/* Between two readings of the queue nobody sees how it grows. */
static void goes_too_far_on_old_samples(void) {
  scene s = {0};
  begin(&s, 1);
  s.detector = "utilization";
  s.site.config.snapshot_refresh_us = 50000;
  s.site.instances[0].max_num_seqs = 1;
  add_burst(&s, 100, 0, 2000, 1);
  open_scene(&s);
  for (int64_t ms = 0; ms < 50; ms++) {
    run_to(&s, ms * 1000);
    CHECK_EQ_I64(counts_of(&s).dispatched, ms + 1);
  }
  run_to(&s, 90000);
  CHECK_EQ_I64(counts_of(&s).dispatched, 50);
  CHECK(counts_of(&s).saturation >= 48 / 5.0);
  run_to(&s, BLIS_TIME_NEVER_US);
  CHECK_EQ_I64(counts_of(&s).dispatched, 100);
  site_deinit(&s.site);
}

static const double full = 1;

static blis_status always_full(void *state, const blis_saturation_look *look, double *saturation,
                               blis_error *error) {
  (void)state, (void)look, (void)error;
  *saturation = full;
  return BLIS_OK;
}

static const blis_saturation_ops full_ops = {.value = always_full, .is_pure = true};

static blis_status fail_it(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  return blis_cluster_instance_fail(cluster, 0, (blis_loss){0}, error);
}

static blis_status restore_it(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  return blis_cluster_instance_restore(cluster, 0, error);
}

/* The end of the only request, with an instance from back_us on. */
static int64_t expiry(int64_t back_us, int64_t ttl_us, int64_t empty_ttl_us, int64_t sweep_us) {
  scene s = {0};
  blis_error error;
  begin(&s, 1);
  s.policy.saturation = (blis_saturation){.ops = &full_ops, .name = "full"};
  s.policy.ttl_us = ttl_us;
  s.policy.empty_ttl_us = empty_ttl_us;
  s.policy.sweep_us = sweep_us;
  add_burst(&s, 1, 1000, 5, 1);
  open_scene(&s);
  CHECK_OK(blis_cluster_call_at(s.site.cluster, 0, fail_it, NULL, &error), &error);
  CHECK_OK(blis_cluster_call_at(s.site.cluster, back_us, restore_it, NULL, &error), &error);
  site_run(&s.site);
  const blis_record *r = records_of(&s);
  CHECK_EQ_I64(r->state, BLIS_REQUEST_REJECTED);
  CHECK_EQ_I64(counts_of(&s).expired, 1);
  int64_t end_us = blis_cluster_now_us(s.site.cluster);
  site_deinit(&s.site);
  return end_us;
}

/* From the change of regime on, and not longer than the larger budget. */
static void expires_by_regime(void) {
  int64_t s = SECOND_US;
  /* The first cycle after the change notices it. */
  CHECK_EQ_I64(expiry(100 * s, 10 * s, 120 * s, 1), 110 * s + 1000);
  CHECK_EQ_I64(expiry(115 * s, 10 * s, 120 * s, 1), 120 * s + 1000);
  CHECK_EQ_I64(expiry(115 * s, 10 * s, 120 * s, s), 121 * s);
  CHECK_EQ_I64(expiry(200 * s, 10 * s, 120 * s, s), 200 * s);
}

static void higher_bands_go_first(void) {
  for (int k = 0; k < 3; k++) {
    scene s = {0};
    begin(&s, 1);
    s.policy.dispatch = (blis_gateway_dispatch)k;
    set_number(&s, "max_concurrency", 1);
    add_burst(&s, 9, 0, 3, 3);
    s.site.source.requests[0].arrival_us = 0;
    for (size_t i = 1; i < 9; i++) {
      s.site.source.requests[i].arrival_us = 2;
    }
    open_scene(&s);
    site_run(&s.site);
    const blis_record *r = records_of(&s);
    CHECK_EQ_I64(counts_of(&s).dispatched, 9);
    for (size_t i = 1; i < 9; i++) {
      for (size_t j = 1; j < 9; j++) {
        CHECK(i % 3 >= j % 3 || r[i].ttft_us < r[j].ttft_us);
      }
    }
    site_deinit(&s.site);
  }
}

static void full_queues_refuse_or_shed(void) {
  for (int sheds = 0; sheds < 2; sheds++) {
    scene s = {0};
    begin(&s, 1);
    s.policy.limits = (blis_flow_limits){.max_requests = 2, .sheds = sheds};
    set_number(&s, "max_concurrency", 1);
    add_burst(&s, 5, 10, 50, 1);
    for (size_t i = 1; i < 5; i++) {
      s.site.source.requests[i].arrival_us += 20;
    }
    uint32_t batch = blis_intern_find(s.site.strings, "batch", 5);
    s.site.source.requests[1].slo_class = batch;
    open_scene(&s);
    site_run(&s.site);
    const blis_record *r = records_of(&s);
    blis_gateway_counts c = counts_of(&s);
    CHECK_EQ_I64(c.rejected, sheds ? 1 : 2);
    CHECK_EQ_I64(c.shed, sheds);
    CHECK((r[1].state == BLIS_REQUEST_REJECTED) == (sheds != 0));
    site_deinit(&s.site);
  }
}

/* A batch request makes room for what is more important. */
static void evicts_for_others(void) {
  for (int k = 0; k < 3; k++) {
    scene s = {0};
    begin(&s, 1);
    s.policy.eviction = (blis_gateway_eviction)k;
    set_number(&s, "max_concurrency", 1);
    add_burst(&s, 2, 0, 500, 1);
    s.site.source.requests[0].slo_class = blis_intern_find(s.site.strings, "batch", 5);
    s.site.source.requests[1].arrival_us = 100000;
    open_scene(&s);
    site_run(&s.site);
    const blis_record *r = records_of(&s);
    CHECK_EQ_I64(counts_of(&s).evicted, k > 0);
    CHECK((r[0].state == BLIS_REQUEST_FAILED) == (k > 0));
    CHECK_EQ_I64(r[1].state, BLIS_REQUEST_COMPLETED);
    CHECK((r[1].ttft_us < SECOND_US) == (k > 0));
    site_deinit(&s.site);
  }
}

static void says_what_is_wrong(void) {
  scene s = {0};
  blis_error error;
  begin(&s, 1);
  site_add_requests(&s.site, 0);
  site_must_open(&s.site);
  blis_gateway policy = {.cycle_us = 0, .sweep_us = 1};
  CHECK(blis_cluster_set_gateway(s.site.cluster, &policy, &error) == BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "cycle_us is 0") != NULL);
  site_close(&s.site);
  site_must_open(&s.site);
  policy = (blis_gateway){.cycle_us = 1,
                          .sweep_us = 1,
                          .dispatch = BLIS_GATEWAY_EVENT,
                          .eviction = BLIS_GATEWAY_EVICTS_SOME};
  CHECK(blis_cluster_set_gateway(s.site.cluster, &policy, &error) == BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "eviction") != NULL);
  CHECK_EQ_I64(blis_gateway_status_code(BLIS_GATEWAY_NO_INSTANCE), 503);
  CHECK_EQ_I64(blis_gateway_status_code("probabilistic: x"), 429);
  CHECK_EQ_I64(blis_gateway_status_code("latency-slo: x"), 429);
  CHECK_EQ_I64(blis_gateway_status_code("gaie-legacy: x"), 429);
  CHECK_EQ_I64(blis_gateway_status_code("other"), 0);
  site_deinit(&s.site);
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
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){.kind = BLIS_LOSS_REROUTED},
                                      error);
  case 1:
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){0}, error);
  case 2:
    return blis_cluster_instance_drain(cluster, a->index, true, error);
  default:
    return blis_cluster_instance_restore(cluster, a->index, error);
  }
}

/* The lowest band that is open; the tenant that most wait of; short prompts
   first. */
static blis_status choose(void *state, const blis_flow_question *question, double *answer,
                          blis_error *error) {
  (void)state, (void)error;
  *answer = question->bands != NULL ? -1 : 0;
  for (size_t i = 0; i < question->count; i++) {
    bool is_better = question->bands != NULL
                         ? question->saturation < question->bands[i].ceiling
                         : question->flows[i].waiting > question->flows[(size_t)*answer].waiting;
    *answer = is_better ? (double)i : *answer;
  }
  if (question->request != NULL) {
    *answer = (double)question->request->prompt_tokens - 30;
  }
  return BLIS_OK;
}

static void draw_hooks(blis_gateway *p, blis_random *random) {
  static const blis_flow_band_limits own[] = {{-1, 3, 0}, {4, 0, 2000}};
  const blis_flow_hook hook = {.ask = choose, .name = "choose"};
  if (blis_random_intn(random, 4) == 0) {
    p->fairness = BLIS_FLOW_CHOSEN;
    p->flow_hook = hook;
  }
  if (blis_random_intn(random, 4) == 0) {
    p->order = BLIS_GATEWAY_SCRIPTED;
    p->order_hook = hook;
  }
  if (blis_random_intn(random, 4) == 0 && p->dispatch != BLIS_GATEWAY_EVENT) {
    p->band_hook = hook;
  }
  if (blis_random_intn(random, 4) == 0) {
    p->limits.bands = own;
    p->limits.band_count = 2;
  }
}

static void draw_policy(scene *s, blis_random *random) {
  static const char *const limits[] = {"static", "linear", "priority-holdback", "soft-reflective"};
  blis_gateway *p = &s->policy;
  p->dispatch = (blis_gateway_dispatch)blis_random_intn(random, 3);
  p->cycle_us = 1 + blis_random_intn(random, 5000);
  p->fairness = (blis_flow_fairness)blis_random_intn(random, 4);
  p->service = (blis_flow_service_rules){0.8, 0.2, 60};
  p->order = (blis_gateway_order)blis_random_intn(random, 3);
  if (p->dispatch != BLIS_GATEWAY_EVENT) {
    p->eviction = (blis_gateway_eviction)blis_random_intn(random, 3);
  }
  p->limits = (blis_flow_limits){.max_requests = blis_random_intn(random, 2) * 20,
                                 .band_max_requests = blis_random_intn(random, 2) * 15,
                                 .max_bytes = blis_random_intn(random, 3) == 0 ? 40000 : 0,
                                 .sheds = blis_random_intn(random, 2) == 0};
  p->ttl_us = blis_random_intn(random, 2) * 700000;
  p->empty_ttl_us = blis_random_intn(random, 2) * 1500000;
  p->sweep_us = blis_random_intn(random, 2) == 0 ? 1 : SECOND_US;
  p->forget_bands_us = blis_random_intn(random, 2) * 300000;
  s->limit = limits[blis_random_intn(random, p->dispatch == BLIS_GATEWAY_EVENT ? 3 : 4)];
  if (blis_random_intn(random, 2) == 0) {
    s->detector = "utilization";
    set_number(s, "queue_depth_threshold", 1 + blis_random_intn(random, 3));
  } else {
    set_number(s, "max_concurrency", 1 + blis_random_intn(random, 6));
  }
  draw_hooks(p, random);
}

static void draw_scene(scene *s, int64_t seed) {
  static const char *const policies[] = {"round-robin", "least-loaded", "weighted"};
  blis_random random;
  blis_random_init(&random, seed);
  begin(s, 1 + (uint32_t)blis_random_intn(&random, 4));
  s->site.policy = policies[blis_random_intn(&random, 3)];
  bool is_real = blis_random_intn(&random, 2) == 0;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    blis_instance_config *c = &s->site.instances[i];
    c->rules.leaves_at_step_end = is_real;
    c->kv_blocks = 60 + blis_random_intn(&random, 150);
    c->max_num_seqs = 1 + blis_random_intn(&random, 20);
    c->max_batched_tokens = 64 << blis_random_intn(&random, 5);
  }
  s->site.config.routing_latency_us = blis_random_intn(&random, 2) * 700;
  s->site.config.snapshot_refresh_us = blis_random_intn(&random, 2) * 30000;
  draw_policy(s, &random);
  site_add_random_requests(&s->site, REQUESTS, 5 + blis_random_intn(&random, 60), seed);
  for (size_t i = 0; i < REQUESTS; i++) {
    blis_request *r = &s->site.source.requests[i];
    if (blis_random_intn(&random, 5) == 0) {
      r->deadline_us = r->arrival_us + blis_random_intn(&random, 3000000);
    }
    if (i > 0 && blis_random_intn(&random, 5) == 0) {
      r->arrival_us = r[-1].arrival_us;
    }
  }
}

/* What the bands say adds up to what is said of all. */
static void check_bands(const scene *s, const blis_gateway_counts *all) {
  blis_gateway_band_counts sum = {0};
  const blis_cluster *cluster = s->site.cluster;
  size_t count = blis_cluster_gateway_band_count(cluster);
  for (size_t i = 0; i < count; i++) {
    blis_gateway_band_counts its = blis_cluster_gateway_band(cluster, i);
    CHECK(i == 0 || blis_cluster_gateway_band(cluster, i - 1).priority > its.priority);
    CHECK_EQ_I64(blis_sketch_total(blis_cluster_gateway_band_waits(cluster, i)), its.dispatched);
    sum.enqueued += its.enqueued;
    sum.dispatched += its.dispatched;
    sum.rejected += its.rejected;
    sum.shed += its.shed;
    sum.expired += its.expired;
    sum.evicted += its.evicted;
  }
  CHECK_EQ_I64(sum.enqueued, all->enqueued);
  CHECK_EQ_I64(sum.dispatched, all->dispatched);
  CHECK_EQ_I64(sum.rejected, all->rejected);
  CHECK_EQ_I64(sum.shed, all->shed);
  CHECK_EQ_I64(sum.expired, all->expired);
  CHECK_EQ_I64(sum.evicted, all->evicted);
}

static uint64_t run_scene(scene *s, int64_t seed, blis_engine_kind engine, bool by_steps) {
  static act acts[ACTS];
  blis_random random;
  blis_random_init_named(&random, seed, "acts");
  uint32_t count = s->site.config.instance_count;
  blis_error error;
  for (uint32_t i = 0; i < count; i++) {
    s->site.instances[i].engine = engine;
  }
  open_scene(s);
  for (int i = 0; i < ACTS && seed % 2 == 0; i++) {
    bool is_last = i == ACTS - 1; /* somebody is there at the end */
    acts[i] = (act){.index = is_last ? 0 : (uint32_t)blis_random_intn(&random, (int32_t)count),
                    .kind = is_last ? 3 : blis_random_intn(&random, 4)};
    int64_t at_us = is_last ? 4000000 : blis_random_intn(&random, 4000000);
    CHECK_OK(blis_cluster_call_at(s->site.cluster, at_us, do_act, &acts[i], &error), &error);
  }
  if (by_steps) {
    CHECK_OK(site_step_to_end(&s->site, NULL, &error), &error);
  }
  run_to(s, BLIS_TIME_NEVER_US);
  blis_gateway_counts c = counts_of(s);
  blis_cluster_counts all;
  CHECK_OK(blis_cluster_finish(s->site.cluster, &error), &error);
  blis_cluster_get_counts(s->site.cluster, &all);
  CHECK_EQ_I64(c.waiting, 0);
  CHECK_EQ_I64(all.arrived, REQUESTS);
  CHECK_EQ_I64(all.unfinished, 0);
  CHECK_EQ_I64(c.enqueued + c.rejected, REQUESTS);
  CHECK(all.rejected >= c.rejected + c.shed + c.expired);
  CHECK(all.failed >= c.evicted);
  CHECK(c.without_instances <= c.rejected + c.expired);
  check_bands(s, &c);
  c.tries = 0; /* looks that find nothing are the engine's */
  c.saturation = 0;
  uint64_t hash = blis_recorder_hash(s->site.recorder) ^ blis_hash64(&c, sizeof c, 1);
  site_close(&s->site);
  return hash;
}

/*
 * Batch requests that all left the queue at once: who of them is evicted
 * depends on the order in which others completed, on several instances and with
 * nothing in between that would keep these together.
 */
static void evicts_the_same_of_equals(void) {
  for (int eviction = 1; eviction < 3; eviction++) {
    scene s = {0};
    begin(&s, 3);
    s.policy.dispatch = BLIS_GATEWAY_TICK; /* one for each that comes */
    s.policy.eviction = (blis_gateway_eviction)eviction;
    set_number(&s, "max_concurrency", 20);
    add_burst(&s, REQUESTS, 0, 10, 1);
    uint32_t batch = blis_intern_find(s.site.strings, "batch", 5);
    for (size_t i = 0; i < REQUESTS; i++) {
      blis_request *r = &s.site.source.requests[i];
      if (i < 60) { /* as many as there is room for */
        r->slo_class = batch;
        r->prompt_tokens = 20 + (uint32_t)(i * 37 % 101);
        r->output_tokens = 5 + (uint32_t)(i * 71 % 97);
      } else {
        r->arrival_us = (i < 100 ? 300000 : 2 * SECOND_US) + 10 * (int64_t)i;
      }
    }
    uint64_t hash = run_scene(&s, 1, BLIS_ENGINE_STEPWISE, false);
    CHECK(run_scene(&s, 1, BLIS_ENGINE_FAST, false) == hash);
    CHECK(run_scene(&s, 1, BLIS_ENGINE_FAST, true) == hash);
    site_deinit(&s.site);
  }
}

static int64_t case_count = 300;
static int64_t first_case = 1;

static void engines_agree(void) {
  for (int64_t k = 0; k < case_count; k++) {
    int64_t seed = first_case + k;
    scene s = {0};
    draw_scene(&s, seed);
    uint64_t hash = run_scene(&s, seed, BLIS_ENGINE_STEPWISE, false);
    bool agree = run_scene(&s, seed, BLIS_ENGINE_FAST, false) == hash &&
                 run_scene(&s, seed, BLIS_ENGINE_FAST, true) == hash;
    /* Cycles that are left out would have found everything as it was. */
    s.is_watched = s.policy.dispatch == BLIS_GATEWAY_CYCLE;
    agree = agree && (!s.is_watched || run_scene(&s, seed, BLIS_ENGINE_FAST, false) == hash);
    if (!agree) {
      printf("# case %" PRId64 "\n", seed);
    }
    CHECK(agree);
    site_deinit(&s.site);
  }
}

static bool is_open(const scene *s) {
  double saturation = 1;
  CHECK(blis_cluster_gateway_saturation(s->site.cluster, &saturation));
  return counts_of(s).waiting > 0 && saturation < 1;
}

/* By events, nobody waits longer than 1 us while there is room. */
static void nobody_waits_in_vain(void) {
  for (int64_t seed = 1; seed <= 40; seed++) {
    scene s = {0};
    blis_error error;
    draw_scene(&s, seed);
    s.policy = (blis_gateway){.dispatch = BLIS_GATEWAY_EVENT, .cycle_us = 1, .sweep_us = 1};
    s.detector = seed % 2 == 0 ? "concurrency" : "utilization";
    s.limit = "static";
    s.param_count = 0;
    set_number(&s, seed % 2 == 0 ? "max_concurrency" : "queue_depth_threshold", 2);
    s.site.config.routing_latency_us = 0;
    open_scene(&s);
    bool done = false;
    int64_t waited = 0;
    while (!done) {
      bool was_open = is_open(&s);
      int64_t before_us = blis_cluster_now_us(s.site.cluster);
      waited += counts_of(&s).waiting > 0;
      CHECK_OK(blis_cluster_step(s.site.cluster, &done, &error), &error);
      CHECK(!was_open || blis_cluster_now_us(s.site.cluster) <= before_us + 1);
    }
    CHECK(waited > 0);
    site_deinit(&s.site);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) {
    case_count = strtoll(argv[1], NULL, 10);
    first_case = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
  }
  RUN(goes_too_far_on_old_samples);
  RUN(expires_by_regime);
  RUN(higher_bands_go_first);
  RUN(full_queues_refuse_or_shed);
  RUN(evicts_for_others);
  RUN(says_what_is_wrong);
  RUN(nobody_waits_in_vain);
  RUN(evicts_the_same_of_equals);
  RUN(engines_agree);
  return check_done();
}
