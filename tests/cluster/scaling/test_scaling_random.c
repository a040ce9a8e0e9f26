/*
 * Whatever autoscalers want and whatever fails, with a queue of the gateway, on
 * machines with little room, or with prefill and decode apart: no request is
 * lost, bounds are kept, and both engines agree, at once and by single steps.
 *
 *   test_scaling_random [cases [first]]
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/faults/fault_plan.h"
#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/machines/node_pools.h"
#include "cluster/scaling/scaling.h"
#include "cluster_fixture.h"
#include "engine_rules.h"

enum { REQUESTS = 60, FAULTS_MAX = 6 };

typedef struct scene scene;

/* An autoscaler that wants anything. */
typedef struct wisher {
  const blis_scaling_config *bounds;
  blis_random random;
} wisher;

struct scene {
  site site;
  blis_instance_facts facts[SITE_INSTANCES_MAX];
  bool is_apart;             /* prefill and decode are */
  bool has_queue;            /* of the gateway */
  bool has_machines;         /* with room for so many */
  bool sees_instances_alone; /* the autoscaler */
  blis_disaggregation apart; /* without its policies, as the next one */
  blis_gateway queue;
  const char *detector;
  blis_node_pool machines[2];
  blis_scaling_config scaling;
  blis_scaling_config of_decode; /* the other is of prefill then */
  blis_fault faults[FAULTS_MAX];
  size_t fault_count;
  blis_random_fault random[2];
  size_t random_count;
  int64_t interval_us;
  int64_t seed;
  wisher wishers[2];
};

static int32_t draw(blis_random *random, int32_t n) {
  return blis_random_intn(random, n);
}

/* Wants anything, often more or less than is allowed. */
static blis_status wish(void *state, const blis_scale_context *context,
                        blis_scale_decision *decision, blis_error *error) {
  (void)error;
  wisher *w = state;
  CHECK(context->replicas >= w->bounds->min && context->replicas <= w->bounds->max);
  CHECK(context->role == w->bounds->role);
  CHECK(context->ready == context->instance_count);
  for (int m = 0; m < BLIS_SCALE_METRIC_COUNT; m++) {
    CHECK((context->collected & BLIS_SCALE_BIT(m)) == 0 ||
          isfinite(blis_scale_value(context, (blis_scale_metric)m)));
  }
  decision->target = draw(&w->random, 9) - 1;
  decision->reason = "a wish";
  return BLIS_OK;
}

static const blis_autoscaler_ops wishes = {.decide = wish};

static blis_delay draw_delay(blis_random *random) {
  const double means[] = {0, 0, 30000, 400000};
  return (blis_delay){means[draw(random, 4)], draw(random, 2) * 20000.0,
                      (blis_delay_shape)draw(random, BLIS_DELAY_SHAPE_COUNT)};
}

static int64_t draw_time(blis_random *random, int32_t most) {
  return draw(random, 8) == 0 ? BLIS_TIME_NEVER_US : draw(random, most);
}

static blis_fault_effect draw_effect(blis_random *random) {
  return (blis_fault_effect){.kind = (blis_fault_kind)draw(random, BLIS_FAULT_KIND_COUNT),
                             .recover_us = draw_time(random, 600000),
                             .recovering_us = draw(random, 2) * 50000,
                             .factor = 0.5 + draw(random, 5),
                             .notice_us = draw(random, 300000),
                             .period_us = 1000 + draw(random, 200000),
                             .loss = {.kind = (blis_loss_kind)draw(random, BLIS_LOSS_KIND_COUNT),
                                      .pause_us = (int64_t)draw(random, 3) * 100000}};
}

static void draw_faults(scene *s, blis_random *random) {
  int64_t at_us = 0;
  s->fault_count = (size_t)draw(random, FAULTS_MAX + 1);
  for (size_t i = 0; i < s->fault_count; i++) {
    at_us += draw(random, 500000);
    s->faults[i] = (blis_fault){
        .at_us = at_us, .instance = (uint32_t)draw(random, 6), .effect = draw_effect(random)};
  }
  s->random_count = (size_t)draw(random, 3);
  for (size_t i = 0; i < s->random_count; i++) {
    s->random[i] = (blis_random_fault){.mtbf_us = 1e6 * (1 + draw(random, 4)),
                                       .instance = draw(random, 4) - 1,
                                       .seed = s->seed,
                                       .effect = draw_effect(random)};
  }
}

static void draw_queue(scene *s, blis_random *random) {
  s->has_queue = true;
  s->detector = draw(random, 2) == 0 ? "concurrency" : "utilization";
  s->queue = (blis_gateway){
      .dispatch = (blis_gateway_dispatch)draw(random, 3),
      .cycle_us = 1 + draw(random, 5000),
      .sweep_us = draw(random, 2) == 0 ? 1 : 1000000,
      .ttl_us = draw(random, 2) * 700000,
      .empty_ttl_us = draw(random, 2) * 1500000,
      .order = (blis_gateway_order)draw(random, 2),
      .limits = {.max_requests = draw(random, 2) * 20, .sheds = draw(random, 2) == 0}};
  if (s->queue.dispatch != BLIS_GATEWAY_EVENT) {
    s->queue.eviction = (blis_gateway_eviction)draw(random, 3);
  }
}

/* Two of each at first. */
static void draw_apart(scene *s, blis_random *random) {
  s->is_apart = true;
  s->apart = (blis_disaggregation){.reserves_first = draw(random, 2) == 0,
                                   .on_no_room = (blis_no_room)draw(random, 3),
                                   .on_failure = (blis_handoff_failure)draw(random, 3),
                                   .retries_max = draw(random, 3),
                                   .retry_pause_us = draw(random, 20000),
                                   .timeout_us = 20000 + draw(random, 2000000),
                                   .kv_limit = 1,
                                   .bytes_per_us = 0.5 + draw(random, 500),
                                   .fabric_bytes_per_us = (double)INFINITY,
                                   .base_us = draw(random, 500) / 7.0,
                                   .handshake_us = draw(random, 2) * 5000};
  s->site.config.initial_count = 4;
  s->scaling.role = BLIS_SCALE_PREFILL;
  s->scaling.min = 1;
  s->scaling.max = 2 + (uint32_t)draw(random, 2);
  s->of_decode = s->scaling;
  s->of_decode.role = BLIS_SCALE_DECODE;
  s->of_decode.max = 2 + (uint32_t)draw(random, 2);
  s->of_decode.stop = (blis_stop)draw(random, BLIS_STOP_COUNT);
  for (uint32_t i = 0; i < 4; i++) {
    s->facts[i].kv_bytes_per_token = 100;
    s->facts[i].roles = i % 2 == 0 ? BLIS_ROLE_PREFILL : BLIS_ROLE_DECODE;
  }
}

/* Some more room than is needed at first. */
static void draw_machines(scene *s, blis_random *random) {
  s->has_machines = true;
  uint32_t nodes = s->site.config.initial_count + (uint32_t)draw(random, 2);
  s->machines[0] = (blis_node_pool){.name = "a",
                                    .gpu = "H100",
                                    .gpus_per_node = 3,
                                    .nodes = nodes,
                                    .max_nodes = nodes,
                                    .cost_per_hour = -1};
  s->machines[1] = (blis_node_pool){.name = "b",
                                    .gpu = "H100",
                                    .gpus_per_node = 4,
                                    .max_nodes = (uint32_t)draw(random, 2),
                                    .provisioning = draw_delay(random),
                                    .cost_per_hour = -1};
}

static void draw_surroundings(scene *s, blis_random *random) {
  for (uint32_t i = 0; i < SITE_INSTANCES_MAX; i++) {
    s->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    s->facts[i].gpu = "H100";
    s->facts[i].tp = 2;
    s->facts[i].cost_per_hour = i % 3;
  }
  switch (draw(random, 4)) {
  case 0:
    draw_queue(s, random);
    break;
  case 1:
    draw_apart(s, random);
    break;
  default:
    break;
  }
  if (draw(random, 3) == 0) {
    draw_machines(s, random);
  }
  s->site.config.facts = s->facts;
}

static void draw_scene(scene *s, int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  static const char *const policies[] = {"round-robin", "least-loaded", "weighted", "random"};
  site_init(&s->site, blis_alloc_heap(), SITE_INSTANCES_MAX);
  s->seed = seed;
  s->site.seed = seed;
  s->site.policy = policies[draw(&random, 4)];
  s->site.config.routing_latency_us = draw(&random, 2) * 700;
  s->site.config.snapshot_refresh_us = draw(&random, 3) / 2 * 50000;
  s->scaling.min = (uint32_t)draw(&random, 3);
  s->scaling.max = s->scaling.min + 1 + (uint32_t)draw(&random, 3);
  s->site.config.initial_count =
      s->scaling.min == 0 ? 1 : s->scaling.min + (uint32_t)draw(&random, 2);
  s->scaling.cold_start = (blis_cold_start){draw_delay(&random),
                                            draw_delay(&random),
                                            draw_delay(&random),
                                            draw_delay(&random),
                                            draw(&random, 2) * (0.5 + draw(&random, 4)),
                                            0.3 * draw(&random, 3),
                                            draw(&random, 3)};
  s->scaling.actuation = draw_delay(&random);
  s->scaling.stop = (blis_stop)draw(&random, BLIS_STOP_COUNT);
  s->scaling.grace_us = draw_time(&random, 400000);
  s->scaling.victim = (blis_scale_victim)draw(&random, BLIS_VICTIM_COUNT);
  s->scaling.oscillation_us = 500000;
  s->scaling.trigger_queue_depth = draw(&random, 2) * draw(&random, 6);
  s->scaling.trigger_slo_attainment = 0.3 * (double)(draw(&random, 2) * draw(&random, 4));
  s->scaling.trigger_gap_us = 100000 + draw(&random, 3) * 100000;
  s->scaling.ttft_target_us = 1 + draw(&random, 300000);
  s->scaling.initial_ones_load = draw(&random, 4) == 0;
  s->scaling.seed = seed;
  draw_surroundings(s, &random);
  s->interval_us = 150000 + draw(&random, 300000);
  s->sees_instances_alone = draw(&random, 3) == 0;
  blis_engine_rules rules = draw_engine_rules(&random);
  for (uint32_t i = 0; i < SITE_INSTANCES_MAX; i++) {
    s->site.instances[i].rules = rules;
    s->site.instances[i].max_num_seqs = 4;
    s->site.instances[i].kv_blocks = 400;
  }
  draw_faults(s, &random);
  site_add_random_requests(&s->site, REQUESTS, 40, seed);
  for (size_t i = 0; i < REQUESTS; i++) {
    blis_request *r = &s->site.source.requests[i];
    r->deadline_us = i % 3 == 0 ? r->arrival_us + 900000 : 0;
  }
}

static void set_queue(scene *s) {
  blis_error error;
  blis_alloc heap = blis_alloc_heap();
  blis_policy_context context = site_context(&s->site);
  blis_gateway queue = s->queue;
  CHECK_OK(blis_saturation_create(&heap, s->detector, NULL, &context, &queue.saturation, &error),
           &error);
  CHECK_OK(blis_usage_limit_create(&heap, "static", NULL, &context, &queue.usage_limit, &error),
           &error);
  CHECK_OK(blis_cluster_set_gateway(s->site.cluster, &queue, &error), &error);
}

static void set_apart(scene *s) {
  blis_error error;
  blis_alloc heap = blis_alloc_heap();
  blis_policy_context context = site_context(&s->site);
  blis_disaggregation apart = s->apart;
  CHECK_OK(blis_router_create(&heap, s->site.policy, NULL, &context, &apart.prefill, &error),
           &error);
  CHECK_OK(blis_decider_create(&heap, "always", NULL, &context, &apart.decider, &error), &error);
  CHECK_OK(blis_cluster_set_disaggregation(s->site.cluster, &apart, &error), &error);
}

static void set_wisher(scene *s, int which, const blis_scaling_config *bounds) {
  wisher *w = &s->wishers[which];
  w->bounds = bounds;
  blis_random_init_named(&w->random, s->seed, which == 0 ? "wishes" : "more");
  blis_autoscaler policy = {.ops = &wishes,
                            .state = w,
                            .alloc = s->site.alloc,
                            .needs = s->sees_instances_alone
                                         ? BLIS_SCALE_BIT(BLIS_SCALE_QUEUE_DEPTH)
                                         : BLIS_SCALE_NEEDS_ALL,
                            .interval_us = s->interval_us * (1 + which),
                            .name = "wishes"};
  blis_error error;
  CHECK_OK(blis_cluster_set_autoscaler(s->site.cluster, &policy, bounds, &error), &error);
}

static void set_policies(scene *s) {
  blis_error error;
  if (s->has_queue) {
    set_queue(s);
  }
  if (s->is_apart) {
    set_apart(s);
  }
  if (s->has_machines) {
    const blis_node_pools_config config = {.pools = s->machines, .count = 2, .seed = s->seed};
    CHECK_OK(blis_cluster_set_node_pools(s->site.cluster, &config, &error), &error);
  }
  set_wisher(s, 0, &s->scaling);
  if (s->is_apart) {
    set_wisher(s, 1, &s->of_decode);
  }
  CHECK_OK(blis_cluster_set_faults(s->site.cluster, s->faults, s->fault_count, s->random,
                                   s->random_count, &error),
           &error);
}

/* Room may run out, which ends a run; false then. */
static bool run_to_the_end(scene *s, bool by_steps, blis_error *error) {
  blis_cluster *cluster = s->site.cluster;
  blis_status status = BLIS_OK;
  if (by_steps) {
    for (bool done = false; status == BLIS_OK && !done;) {
      status = blis_cluster_step(cluster, &done, error);
    }
  } else {
    status = blis_cluster_run_until(cluster, BLIS_TIME_NEVER_US, error);
  }
  CHECK(status == BLIS_OK || strstr(error->message, "no more starts are possible") != NULL);
  if (status == BLIS_OK) {
    CHECK_OK(blis_cluster_finish(cluster, error), error);
  }
  return status == BLIS_OK;
}

/* Returns how long its instances were paid, up to the end. */
static int64_t check_pool(const blis_scaling_report *r, const blis_scaling_config *bounds) {
  int64_t ups = 0;
  for (size_t i = 0; i < r->event_count; i++) {
    CHECK(r->events[i].to >= bounds->min && r->events[i].to <= bounds->max);
    CHECK(i == 0 || r->events[i].from == r->events[i - 1].to);
    ups += r->events[i].to > r->events[i].from;
  }
  CHECK_EQ_I64(ups, r->scale_ups);
  int64_t paid_us = 0;
  for (size_t i = 0; i < r->level_count; i++) {
    const blis_scale_level *level = &r->levels[i];
    int64_t until_us = i + 1 < r->level_count ? r->levels[i + 1].time_us : r->end_us;
    CHECK(level->ready <= bounds->max + 1 && level->ready <= level->paid);
    until_us = until_us < r->end_us ? until_us : r->end_us;
    paid_us += until_us > level->time_us ? level->paid * (until_us - level->time_us) : 0;
  }
  return paid_us;
}

static void check_machines(const scene *s) {
  for (size_t k = 0; k < blis_cluster_node_pool_count(s->site.cluster); k++) {
    blis_node_pool_use use = blis_cluster_node_pool_use(s->site.cluster, k);
    CHECK(use.used <= use.gpus && use.nodes <= s->machines[k].max_nodes);
    CHECK(use.used % 2 == 0);
  }
}

static void check_report(const scene *s) {
  const blis_cluster *cluster = s->site.cluster;
  blis_scaling_report r;
  int64_t paid_us = 0;
  size_t pools = 0;
  for (; blis_cluster_get_scaling(cluster, pools, &r); pools++) {
    paid_us += check_pool(&r, pools == 0 ? &s->scaling : &s->of_decode);
  }
  CHECK_EQ_I64(pools, s->is_apart ? 2 : 1);
  CHECK(blis_cluster_get_scaling(cluster, 0, &r));
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    paid_us -= blis_cluster_instance_paid_us(cluster, i, r.end_us);
    CHECK(blis_instance_check(blis_cluster_instance(cluster, i)));
    CHECK_EQ_DOUBLE(blis_cluster_signal(cluster, i, BLIS_SIGNAL_IN_FLIGHT), 0);
  }
  CHECK_EQ_I64(paid_us, 0);
  check_machines(s);
}

/* When there were how many. */
static uint64_t add_levels(uint64_t hash, const scene *s) {
  blis_scaling_report r;
  for (size_t k = 0; blis_cluster_get_scaling(s->site.cluster, k, &r); k++) {
    for (size_t i = 0; i < r.level_count; i++) {
      const blis_scale_level *level = &r.levels[i];
      const int64_t values[] = {level->time_us, level->wanted, level->ready, level->paid};
      hash = blis_hash64(values, sizeof values, hash);
    }
  }
  return hash;
}

static uint64_t hash_of(scene *s, blis_engine_kind engine, bool by_steps) {
  for (uint32_t i = 0; i < SITE_INSTANCES_MAX; i++) {
    s->site.instances[i].engine = engine;
  }
  site_must_open(&s->site);
  set_policies(s);
  blis_error error = {0};
  bool is_whole = run_to_the_end(s, by_steps, &error);
  if (is_whole) {
    site_check_states_sum_up(&s->site, REQUESTS);
    check_report(s);
  }
  uint64_t hash = is_whole ? add_levels(blis_recorder_hash(s->site.recorder), s) : 0;
  site_close(&s->site);
  return hash;
}

static bool check_scene(int64_t seed) {
  scene s = {0};
  draw_scene(&s, seed);
  uint64_t hash = hash_of(&s, BLIS_ENGINE_STEPWISE, false);
  bool is_equal = hash == hash_of(&s, BLIS_ENGINE_FAST, false) &&
                  hash == hash_of(&s, BLIS_ENGINE_FAST, true) &&
                  hash == hash_of(&s, BLIS_ENGINE_STEPWISE, true);
  if (!is_equal) {
    fprintf(stderr, "scene %" PRId64 ", policy %s%s%s%s\n", seed, s.site.policy,
            s.has_queue ? ", queue" : "", s.is_apart ? ", apart" : "",
            s.has_machines ? ", machines" : "");
  }
  CHECK(is_equal);
  site_deinit(&s.site);
  return hash != 0;
}

static int64_t cases = 300;
static int64_t first = 1;

static void nobody_is_lost(void) {
  int64_t whole = 0;
  for (int64_t seed = first; seed < first + cases; seed++) {
    whole += check_scene(seed);
  }
  printf("# %" PRId64 " of %" PRId64 " cases ran to their end\n", whole, cases);
  CHECK(whole > cases / 3);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    cases = strtoll(argv[1], NULL, 10);
    first = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
  }
  RUN(nobody_is_lost);
  return check_done();
}
