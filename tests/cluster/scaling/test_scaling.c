/* Instances that come and go, by hand and by an autoscaler. */
#include "cluster/scaling/scaling.h"
#include "cluster_fixture.h"

/* An autoscaler that says what a test wants. */
typedef struct plan {
  const int64_t *targets; /* by look; the last one goes on */
  size_t count;
  size_t looks;
  int64_t seen_us[64];
  blis_scale_context last;
  int64_t in_flight[64];
  site *s;
} plan;

static blis_status decide(void *state, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  (void)error;
  plan *p = state;
  size_t look = p->looks++;
  if (look < 64) {
    blis_cluster_counts counts;
    blis_cluster_get_counts(p->s->cluster, &counts);
    p->seen_us[look] = context->now_us;
    p->in_flight[look] = counts.in_flight;
  }
  p->last = *context;
  decision->target = p->targets[look < p->count ? look : p->count - 1];
  decision->reason = "the plan";
  return BLIS_OK;
}

static const blis_autoscaler_ops plan_ops = {.decide = decide};

static blis_scaling_config usual(void) {
  return (blis_scaling_config){
      .min = 0, .max = 4, .grace_us = BLIS_TIME_NEVER_US, .oscillation_us = 1000000, .seed = 1};
}

/* 16 places, of which so many are there at first. */
static void open_scaled(site *s, uint32_t initial, plan *p, const blis_scaling_config *config) {
  s->config.initial_count = initial;
  p->s = s;
  site_must_open(s);
  blis_autoscaler policy = {
      .ops = &plan_ops, .state = p, .alloc = s->alloc, .interval_us = 100000, .name = "plan"};
  blis_error error;
  CHECK_OK(blis_cluster_set_autoscaler(s->cluster, &policy, config, &error), &error);
}

static blis_scaling_report report_of(const site *s) {
  blis_scaling_report report;
  CHECK(blis_cluster_get_scaling(s->cluster, 0, &report));
  return report;
}

static void it_grows_after_a_cold_start(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 16);
  site_add_slow_requests(&s, 40);
  const int64_t targets[] = {1, 3};
  plan p = {.targets = targets, .count = 2};
  blis_scaling_config config = usual();
  config.cold_start =
      (blis_cold_start){.provisioning = {50000, 0}, .loading = {70000, 0}, .warming = {30000, 0}};
  open_scaled(&s, 1, &p, &config);
  site_run(&s);
  site_check_states_sum_up(&s, 40);
  blis_scaling_report r = report_of(&s);
  CHECK_EQ_I64(r.event_count, 1);
  CHECK_EQ_I64(r.events[0].time_us, 200000);
  CHECK_EQ_I64(r.events[0].from, 1);
  CHECK_EQ_I64(r.events[0].to, 3);
  CHECK_STR(r.events[0].reason, "the plan");
  CHECK_EQ_I64(r.scale_ups, 1);
  CHECK_EQ_I64(r.started, 2);
  CHECK_EQ_I64(blis_cluster_instance_count(s.cluster), 3);
  CHECK_EQ_I64(p.last.replicas, 3);
  CHECK_EQ_I64(p.last.ready, 3);
  /* It was asked for at 200 ms and served from 350 ms on. */
  const int64_t waits[] = {50000, 70000, 30000};
  for (int i = 0; i < 3; i++) {
    blis_service service = (blis_service)(BLIS_SERVICE_PROVISIONING + i);
    CHECK_EQ_I64(blis_cluster_instance_time_us(s.cluster, 2, service, r.end_us), waits[i]);
  }
  CHECK_EQ_I64(blis_cluster_instance_paid_us(s.cluster, 2, r.end_us), r.end_us - 200000);
  const blis_record *records = site_records(&s);
  int64_t first_us = BLIS_TIME_NEVER_US;
  for (int i = 0; i < 40; i++) {
    if (records[i].instance == 2 && records[i].arrival_us < first_us) {
      first_us = records[i].arrival_us;
    }
  }
  CHECK_EQ_I64(first_us, 360000); /* the first arrival from 350 ms on */
  site_deinit(&s);
}

static void it_shrinks_in_three_ways(void) {
  for (int how = 0; how < BLIS_STOP_COUNT; how++) {
    site s;
    site_init(&s, blis_alloc_heap(), 16);
    s.instances[1].max_num_seqs = 1; /* so that others wait there */
    for (int i = 2; i < 16; i++) {
      s.instances[i] = s.instances[0];
    }
    site_add_slow_requests(&s, 20);
    const int64_t targets[] = {1};
    plan p = {.targets = targets, .count = 1};
    blis_scaling_config config = usual();
    config.stop = (blis_stop)how;
    open_scaled(&s, 2, &p, &config);
    site_run(&s);
    site_check_states_sum_up(&s, 20);
    site_check_counters_are_zero(&s);
    blis_cluster_counts c;
    blis_cluster_get_counts(s.cluster, &c);
    /* At 100 ms it had those of 40 and 80 ms, of which the first one ran. */
    CHECK_EQ_I64(c.rerouted, how == BLIS_STOP_REDIRECT ? 1 : 0);
    CHECK_EQ_I64(c.failed, how == BLIS_STOP_IMMEDIATE ? 2 : 0);
    CHECK_EQ_I64(c.completed, how == BLIS_STOP_IMMEDIATE ? 18 : 20);
    CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 1), BLIS_SERVICE_DRAINED);
    int64_t paid_us = blis_cluster_instance_paid_us(s.cluster, 1, report_of(&s).end_us);
    CHECK(how == BLIS_STOP_IMMEDIATE ? paid_us == 100000 : paid_us > 3000000);
    site_deinit(&s);
  }
}

static void grace_ends(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 16);
  site_add_slow_requests(&s, 20);
  const int64_t targets[] = {1};
  plan p = {.targets = targets, .count = 1};
  blis_scaling_config config = usual();
  config.grace_us = 250000;
  open_scaled(&s, 2, &p, &config);
  site_run(&s);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.failed, 2); /* those of 40 and 80 ms */
  CHECK_EQ_I64(blis_cluster_instance_paid_us(s.cluster, 1, 10000000), 350000);
  site_deinit(&s);
}

static void requests_wait_for_an_instance(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 16);
  site_add_slow_requests(&s, 12);
  s.source.requests[0].deadline_us = 150000; /* by then nobody is there */
  const int64_t targets[] = {0, 1};
  plan p = {.targets = targets, .count = 2};
  blis_scaling_config config = usual();
  config.cold_start.loading.mean_us = 25000;
  open_scaled(&s, 0 + 1, &p, &config);
  blis_error error;
  CHECK_OK(blis_cluster_instance_stop(s.cluster, 0, BLIS_STOP_WAIT, BLIS_TIME_NEVER_US, &error),
           &error);
  site_run(&s);
  site_check_states_sum_up(&s, 12);
  blis_scaling_report r = report_of(&s);
  /* It is replaced at once, is ready at 25 ms, and goes at 100 ms. */
  CHECK(r.started >= 2);
  CHECK(r.waited > 0);
  CHECK_EQ_I64(r.events[0].to, 0);
  CHECK_EQ_I64(r.events[1].time_us, 200000);
  CHECK_EQ_I64(r.longest_us, 225000 - 120000);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.rejected + c.timed_out, 1);
  CHECK_EQ_I64(c.completed, 11);
  site_deinit(&s);
}

static void a_wait_ends_with_the_deadline(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 16);
  site_add_slow_requests(&s, 3);
  for (int i = 0; i < 3; i++) {
    s.source.requests[i].deadline_us = 70000 + 10000 * i;
  }
  const int64_t targets[] = {1};
  plan p = {.targets = targets, .count = 1};
  blis_scaling_config config = usual();
  config.cold_start.loading.mean_us = 75000;
  open_scaled(&s, 1, &p, &config);
  blis_error error;
  CHECK_OK(blis_cluster_instance_fail(s.cluster, 0, (blis_loss){0}, &error), &error);
  site_run(&s);
  const blis_record *records = site_records(&s);
  CHECK_EQ_I64(records[0].state, BLIS_REQUEST_REJECTED);
  CHECK_STR(blis_recorder_reason(s.recorder, &records[0]), "no-instance");
  CHECK_EQ_I64(records[0].end_us, 70000);
  CHECK_EQ_I64(records[1].state, BLIS_REQUEST_TIMED_OUT);
  CHECK_EQ_I64(report_of(&s).waited, 3);
  CHECK_EQ_I64(report_of(&s).most_waiting, 3);
  site_deinit(&s);
}

static void bounds_clamp_and_tell(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 16);
  site_add_slow_requests(&s, 30);
  const int64_t targets[] = {9, 9, -3, -3};
  plan p = {.targets = targets, .count = 4};
  blis_scaling_config config = usual();
  config.min = 1;
  open_scaled(&s, 2, &p, &config);
  site_run(&s);
  blis_scaling_report r = report_of(&s);
  CHECK_EQ_I64(r.event_count, 2);
  CHECK_EQ_I64(r.events[0].to, 4);
  CHECK_EQ_I64(r.events[0].proposed, 9);
  CHECK_EQ_I64(r.events[1].to, 1);
  CHECK_EQ_I64(r.events[1].proposed, -3);
  CHECK(!r.events[0].is_oscillation && r.events[1].is_oscillation);
  CHECK_EQ_I64(r.oscillations, 1);
  CHECK_EQ_I64(r.clamped, r.checks);
  for (size_t i = 0; i < r.level_count; i++) {
    CHECK(r.levels[i].wanted >= 1 && r.levels[i].wanted <= 4);
    CHECK(i == 0 || r.levels[i].time_us > r.levels[i - 1].time_us);
  }
  site_deinit(&s);
}

static void it_looks_after_everything_else(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 10); /* the fifth one arrives at 100 ms */
  const int64_t targets[] = {1};
  plan p = {.targets = targets, .count = 1};
  blis_scaling_config config = usual();
  open_scaled(&s, 1, &p, &config);
  site_run(&s);
  CHECK_EQ_I64(p.seen_us[0], 100000);
  CHECK_EQ_I64(p.in_flight[0], 5);
  CHECK_EQ_I64(p.seen_us[1], 200000);
  CHECK_EQ_I64(p.in_flight[1], 10);
  CHECK(p.looks > 20);
  site_deinit(&s);
}

static void wrong_bounds_are_told(void) {
  const struct {
    uint32_t min, max, initial;
  } cases[] = {{3, 2, 2}, {0, 0, 1}, {2, 4, 1}, {0, 1, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    site s;
    site_init(&s, blis_alloc_heap(), 16);
    s.config.initial_count = cases[i].initial;
    site_must_open(&s);
    plan p = {.s = &s};
    blis_autoscaler policy = {
        .ops = &plan_ops, .state = &p, .alloc = s.alloc, .interval_us = 1, .name = "plan"};
    blis_scaling_config config = usual();
    config.min = cases[i].min;
    config.max = cases[i].max;
    blis_error error;
    CHECK_EQ_I64(blis_cluster_set_autoscaler(s.cluster, &policy, &config, &error),
                 BLIS_ERR_INVALID);
    CHECK(strncmp(error.message, "autoscaler: ", 12) == 0);
    site_deinit(&s);
  }
}

static void there_is_room_for_so_many(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 10);
  const int64_t targets[] = {4};
  plan p = {.targets = targets, .count = 1};
  blis_scaling_config config = usual();
  open_scaled(&s, 1, &p, &config);
  blis_error error;
  CHECK_EQ_I64(site_try_run(&s, &error), BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "no more starts are possible") != NULL);
  site_deinit(&s);
}

static void one_recovers(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 16);
  site_add_slow_requests(&s, 10);
  const int64_t targets[] = {2};
  plan p = {.targets = targets, .count = 1};
  blis_scaling_config config = usual();
  open_scaled(&s, 2, &p, &config);
  blis_error error;
  CHECK_OK(blis_cluster_run_until(s.cluster, 50000, &error), &error);
  CHECK_OK(
      blis_cluster_instance_fail(s.cluster, 1, (blis_loss){.kind = BLIS_LOSS_REROUTED}, &error),
      &error);
  CHECK_OK(blis_cluster_instance_recover(s.cluster, 1, 100000, 30000, &error), &error);
  CHECK_OK(blis_cluster_run_until(s.cluster, 130000, &error), &error);
  CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 1), BLIS_SERVICE_RECOVERING);
  CHECK_OK(blis_cluster_run_until(s.cluster, 150000, &error), &error);
  CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 1), BLIS_SERVICE_ACTIVE);
  site_run(&s);
  CHECK_EQ_I64(report_of(&s).started, 0); /* nobody had to replace it */
  site_deinit(&s);
}

static blis_status run_short_of_memory(site *s, blis_error *error) {
  const int64_t targets[] = {1, 3, 1, 2};
  plan p = {.targets = targets, .count = 4, .s = s};
  blis_autoscaler policy = {
      .ops = &plan_ops, .state = &p, .alloc = s->alloc, .interval_us = 100000, .name = "plan"};
  blis_scaling_config config = usual();
  config.stop = BLIS_STOP_REDIRECT;
  BLIS_TRY(blis_cluster_set_autoscaler(s->cluster, &policy, &config, error));
  return site_try_run(s, error);
}

static void memory_may_run_out(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 8);
  site_add_slow_requests(&s, 30);
  s.config.initial_count = 1;
  long at = 1;
  while (!site_run_with_failure_at(&s, at, run_short_of_memory)) {
    at += 1 + at / 40;
  }
  CHECK(at > 50);
  site_deinit(&s);
}

int main(void) {
  RUN(it_grows_after_a_cold_start);
  RUN(it_shrinks_in_three_ways);
  RUN(grace_ends);
  RUN(requests_wait_for_an_instance);
  RUN(a_wait_ends_with_the_deadline);
  RUN(bounds_clamp_and_tell);
  RUN(it_looks_after_everything_else);
  RUN(wrong_bounds_are_told);
  RUN(there_is_room_for_so_many);
  RUN(one_recovers);
  RUN(memory_may_run_out);
  return check_done();
}
