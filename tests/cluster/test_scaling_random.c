/*
 * Whatever an autoscaler wants and whatever fails: no request is lost, bounds
 * are kept, and both engines agree, at once and by single steps.
 *
 *   test_scaling_random [cases]
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/fault_plan.h"
#include "cluster/scaling.h"
#include "cluster_fixture.h"
#include "engine_rules.h"

enum { REQUESTS = 60, FAULTS_MAX = 6 };

typedef struct scene {
  site site;
  blis_scaling_config scaling;
  blis_fault faults[FAULTS_MAX];
  size_t fault_count;
  blis_random_fault random_fault;
  int64_t interval_us;
  int64_t seed;
  blis_random wishes; /* of the autoscaler */
} scene;

static int32_t draw(blis_random *random, int32_t n) {
  return blis_random_intn(random, n);
}

/* Wants anything, often more or less than is allowed. */
static blis_status wish(void *state, const blis_scale_context *context,
                        blis_scale_decision *decision, blis_error *error) {
  (void)error;
  scene *s = state;
  CHECK(context->replicas >= s->scaling.min &&
        context->replicas <= s->scaling.max);
  CHECK(context->ready == context->instance_count);
  decision->target = draw(&s->wishes, 9) - 1;
  decision->reason = "a wish";
  return BLIS_OK;
}

static const blis_autoscaler_ops wishes = {.decide = wish};

static blis_delay draw_delay(blis_random *random) {
  const double means[] = {0, 0, 30000, 400000};
  return (blis_delay){means[draw(random, 4)], draw(random, 2) * 20000.0};
}

static int64_t draw_time(blis_random *random, int32_t most) {
  return draw(random, 8) == 0 ? BLIS_TIME_NEVER_US : draw(random, most);
}

static blis_fault_effect draw_effect(blis_random *random) {
  return (blis_fault_effect){
      .kind = (blis_fault_kind)draw(random, BLIS_FAULT_KIND_COUNT),
      .recover_us = draw_time(random, 600000),
      .recovering_us = draw(random, 2) * 50000,
      .factor = 0.5 + draw(random, 5),
      .notice_us = draw(random, 300000),
      .re_route = draw(random, 2) == 0};
}

static void draw_faults(scene *s, blis_random *random) {
  int64_t at_us = 0;
  s->fault_count = (size_t)draw(random, FAULTS_MAX + 1);
  for (size_t i = 0; i < s->fault_count; i++) {
    at_us += draw(random, 500000);
    s->faults[i] = (blis_fault){.at_us = at_us,
                                .instance = (uint32_t)draw(random, 6),
                                .effect = draw_effect(random)};
  }
  s->random_fault = (blis_random_fault){
      .mtbf_us = draw(random, 3) == 0 ? 2e6 : 0, .effect = draw_effect(random)};
}

static void draw_scene(scene *s, int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  static const char *const policies[] = {"round-robin", "least-loaded",
                                         "weighted", "random"};
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
  s->scaling.cold_start =
      (blis_cold_start){draw_delay(&random), draw_delay(&random),
                        draw_delay(&random), draw_delay(&random)};
  s->scaling.actuation = draw_delay(&random);
  s->scaling.stop = (blis_stop)draw(&random, BLIS_STOP_COUNT);
  s->scaling.grace_us = draw_time(&random, 400000);
  s->scaling.victim = (blis_scale_victim)draw(&random, BLIS_VICTIM_COUNT);
  s->scaling.oscillation_us = 500000;
  s->scaling.trigger_queue_depth = draw(&random, 2) * draw(&random, 6);
  s->scaling.trigger_slo_attainment =
      0.3 * (double)(draw(&random, 2) * draw(&random, 4));
  s->scaling.trigger_gap_us = 100000 + draw(&random, 3) * 100000;
  s->scaling.ttft_target_us = 1 + draw(&random, 300000);
  s->scaling.seed = seed;
  s->interval_us = 150000 + draw(&random, 300000);
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

static void set_policies(scene *s) {
  blis_error error;
  blis_random_init_named(&s->wishes, s->seed, "wishes");
  blis_autoscaler policy = {.ops = &wishes,
                            .state = s,
                            .alloc = s->site.alloc,
                            .interval_us = s->interval_us,
                            .name = "wishes"};
  CHECK_OK(blis_cluster_set_autoscaler(s->site.cluster, &policy, &s->scaling,
                                       &error),
           &error);
  CHECK_OK(blis_cluster_set_faults(s->site.cluster, s->faults, s->fault_count,
                                   &s->random_fault, s->seed, &error),
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
  CHECK(status == BLIS_OK || strstr(error->message, "max_starts") != NULL);
  if (status == BLIS_OK) {
    CHECK_OK(blis_cluster_finish(cluster, error), error);
  }
  return status == BLIS_OK;
}

static void check_report(const scene *s) {
  const blis_cluster *cluster = s->site.cluster;
  blis_scaling_report r;
  CHECK(blis_cluster_get_scaling(cluster, 0, &r));
  int64_t ups = 0;
  for (size_t i = 0; i < r.event_count; i++) {
    CHECK(r.events[i].to >= s->scaling.min && r.events[i].to <= s->scaling.max);
    CHECK(i == 0 || r.events[i].from == r.events[i - 1].to);
    ups += r.events[i].to > r.events[i].from;
  }
  CHECK_EQ_I64(ups, r.scale_ups);
  int64_t paid_us = 0;
  for (size_t i = 0; i < r.level_count; i++) {
    const blis_scale_level *level = &r.levels[i];
    int64_t until_us =
        i + 1 < r.level_count ? r.levels[i + 1].time_us : r.end_us;
    CHECK(level->ready <= s->scaling.max + 1 && level->ready <= level->paid);
    until_us = until_us < r.end_us ? until_us : r.end_us;
    paid_us += until_us > level->time_us
                   ? level->paid * (until_us - level->time_us)
                   : 0;
  }
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    paid_us -= blis_cluster_instance_paid_us(cluster, i, r.end_us);
    CHECK(blis_instance_check(blis_cluster_instance(cluster, i)));
    CHECK_EQ_DOUBLE(blis_cluster_signal(cluster, i, BLIS_SIGNAL_IN_FLIGHT), 0);
  }
  CHECK_EQ_I64(paid_us, 0);
}

/* When there were how many. */
static uint64_t add_levels(uint64_t hash, const scene *s) {
  blis_scaling_report r;
  CHECK(blis_cluster_get_scaling(s->site.cluster, 0, &r));
  for (size_t i = 0; i < r.level_count; i++) {
    const blis_scale_level *level = &r.levels[i];
    const int64_t values[] = {level->time_us, level->wanted, level->ready,
                              level->paid};
    hash = blis_hash64(values, sizeof values, hash);
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
  uint64_t hash =
      is_whole ? add_levels(blis_recorder_hash(s->site.recorder), s) : 0;
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
    fprintf(stderr, "scene %" PRId64 ", policy %s\n", seed, s.site.policy);
  }
  CHECK(is_equal);
  site_deinit(&s.site);
  return hash != 0;
}

static int64_t cases = 300;

static void nobody_is_lost(void) {
  int64_t whole = 0;
  for (int64_t seed = 1; seed <= cases; seed++) {
    whole += check_scene(seed);
  }
  printf("# %" PRId64 " of %" PRId64 " cases ran to their end\n", whole, cases);
  CHECK(whole > cases / 3);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    cases = strtoll(argv[1], NULL, 10);
  }
  RUN(nobody_is_lost);
  return check_done();
}
