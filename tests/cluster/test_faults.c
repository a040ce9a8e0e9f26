/* Instances that fail, drain, come back and slow down in the middle of a run.
 */
#include "cluster_fixture.h"

/* Something done to an instance at a time. */
typedef enum act_kind { FAIL, FAIL_OVER, DRAIN, HAND_OVER, RESTORE, SLOW } act_kind;

typedef struct act {
  int64_t at_us;
  act_kind kind;
  uint32_t index;
  double factor;
} act;

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
    return blis_cluster_instance_restore(cluster, a->index, error);
  default:
    return blis_cluster_instance_slow(cluster, a->index, a->factor, error);
  }
}

static blis_status try_schedule(site *s, act *acts, size_t count, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(blis_cluster_call_at(s->cluster, acts[i].at_us, do_act, &acts[i], error));
  }
  return BLIS_OK;
}

static void schedule(site *s, act *acts, size_t count) {
  blis_error error;
  CHECK_OK(try_schedule(s, acts, count, &error), &error);
}

static const blis_record *record_of(site *s, int64_t number) {
  const blis_record *records = site_records(s);
  for (size_t i = 0; i < blis_recorder_count(s->recorder); i++) {
    if (records[i].number == number) {
      return &records[i];
    }
  }
  return NULL;
}

/* Requests at 20, 40, ... ms take 500 steps of 6 ms and more each. */
static void slow_pair(site *s, size_t count) {
  site_init(s, blis_alloc_heap(), 2);
  site_add_slow_requests(s, count);
}

static void a_failure_loses_requests(void) {
  site s;
  slow_pair(&s, 6);
  site_must_open(&s);
  act acts[] = {{.at_us = 90000, .kind = FAIL, .index = 0}};
  schedule(&s, acts, 1);
  site_run(&s);
  site_check_states_sum_up(&s, 6);
  site_check_counters_are_zero(&s);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.failed, 2);
  CHECK_EQ_I64(c.completed, 4);
  for (int64_t i = 0; i < 6; i++) {
    const blis_record *r = record_of(&s, i);
    bool is_lost = i == 0 || i == 2;
    CHECK_EQ_I64(r->state, is_lost ? BLIS_REQUEST_FAILED : BLIS_REQUEST_COMPLETED);
    CHECK_STR(blis_recorder_reason(s.recorder, r), is_lost ? "instance-failed" : "");
    CHECK_EQ_I64(r->instance, !is_lost);
    CHECK(!is_lost || (r->end_us == 90000 && r->e2e_us == -1));
    CHECK(r->ttft_us > 0);
  }
  CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 0), BLIS_SERVICE_FAILED);
  site_deinit(&s);
}

/* The lost ones start again elsewhere; their times count from their arrival. */
static void a_failure_hands_requests_over(void) {
  site s;
  slow_pair(&s, 6);
  s.config.routing_latency_us = 1000;
  site_must_open(&s);
  act acts[] = {{.at_us = 90000, .kind = FAIL_OVER, .index = 0}};
  schedule(&s, acts, 1);
  site_run(&s);
  site_check_states_sum_up(&s, 6);
  site_check_counters_are_zero(&s);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.completed, 6);
  CHECK_EQ_I64(c.rerouted, 2);
  CHECK_EQ_I64(c.routed, 8);
  for (int64_t i = 0; i < 6; i++) {
    CHECK_EQ_I64(record_of(&s, i)->instance, 1);
  }
  CHECK(record_of(&s, 0)->ttft_us > 91000 - 20000);
  CHECK(record_of(&s, 0)->ttft_us < 91000 - 20000 + 30000);
  CHECK(record_of(&s, 1)->ttft_us < 30000);
  site_deinit(&s);
}

static void nobody_is_left(void) {
  site s;
  slow_pair(&s, 5);
  site_must_open(&s);
  act acts[] = {{.at_us = 50000, .kind = FAIL_OVER, .index = 0},
                {.at_us = 70000, .kind = FAIL_OVER, .index = 1},
                {.at_us = 90000, .kind = RESTORE, .index = 1}};
  schedule(&s, acts, 3);
  site_run(&s);
  site_check_states_sum_up(&s, 5);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.rejected, 4); /* three without a way out, one that came late */
  CHECK_EQ_I64(c.completed, 1);
  CHECK_STR(blis_recorder_reason(s.recorder, record_of(&s, 3)), "no-instance");
  CHECK_EQ_I64(record_of(&s, 4)->instance, 1);
  site_deinit(&s);
}

static void a_drained_instance_finishes_its_work(void) {
  for (int hands_over = 0; hands_over < 2; hands_over++) {
    site s;
    slow_pair(&s, 8);
    s.instances[0].max_num_seqs = 1; /* so that one of two waits */
    site_must_open(&s);
    act acts[] = {{.at_us = 90000, .kind = hands_over ? HAND_OVER : DRAIN, .index = 0}};
    schedule(&s, acts, 1);
    blis_error error;
    CHECK_OK(blis_cluster_run_until(s.cluster, 200000, &error), &error);
    CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 0), BLIS_SERVICE_DRAINING);
    site_run(&s);
    CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 0), BLIS_SERVICE_DRAINED);
    site_check_states_sum_up(&s, 8);
    site_check_counters_are_zero(&s);
    for (int64_t i = 0; i < 8; i++) {
      bool stays = i == 0 || (i == 2 && !hands_over);
      CHECK_EQ_I64(record_of(&s, i)->instance, stays ? 0 : 1);
      CHECK_EQ_I64(record_of(&s, i)->state, BLIS_REQUEST_COMPLETED);
    }
    site_deinit(&s);
  }
}

/* An idle instance is gone at once; it comes back, and gets its turn. */
static void a_drained_instance_comes_back(void) {
  site s;
  slow_pair(&s, 4);
  site_must_open(&s);
  act acts[] = {{.at_us = 10000, .kind = DRAIN, .index = 1},
                {.at_us = 50000, .kind = RESTORE, .index = 1}};
  schedule(&s, acts, 2);
  blis_error error;
  CHECK_OK(blis_cluster_run_until(s.cluster, 10000, &error), &error);
  CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 1), BLIS_SERVICE_DRAINED);
  site_run(&s);
  static const int expected[] = {0, 0, 0, 1}; /* turn k goes to k mod n */
  for (int64_t i = 0; i < 4; i++) {
    CHECK_EQ_I64(record_of(&s, i)->instance, expected[i]);
  }
  site_deinit(&s);
}

static double cached_tokens_seen;

static blis_status note_cached(const blis_question *q, blis_decision *decision) {
  cached_tokens_seen = q->view->columns[BLIS_SIGNAL_CACHED_TOKENS][0];
  *decision = (blis_decision){.chosen = 0};
  return BLIS_OK;
}

/* The same prefix twice, 50 s apart; in between something happens. */
static void a_restored_cache_is_cold(void) {
  static const blis_router_ops ops = {.route = note_cached};
  static const struct {
    act_kind kind;
    double cached;
  } cases[] = {{SLOW, 192}, {FAIL, 0}, {DRAIN, 0}};
  for (size_t i = 0; i < 3; i++) {
    for (int delayed = 0; delayed < 2; delayed++) {
      site s;
      site_init(&s, blis_alloc_heap(), 1);
      site_add_random_requests(&s, 2, 1, 7);
      blis_request *twin = &s.source.requests[1];
      twin->arrival_us = 50000000;
      twin->segments = s.source.requests[0].segments;
      s.config.cache_signal_delay_us = delayed == 0 ? 0 : 1000000;
      blis_router router = {
          .ops = &ops, .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS), .name = "note"};
      site_must_open_with(&s, &router);
      act acts[] = {{.at_us = 30000000, .kind = cases[i].kind, .factor = 1},
                    {.at_us = 31000000, .kind = RESTORE}};
      schedule(&s, acts, 2);
      site_run(&s);
      CHECK_EQ_DOUBLE(cached_tokens_seen, cases[i].cached);
      CHECK_EQ_I64(record_of(&s, 1)->state, BLIS_REQUEST_COMPLETED);
      site_deinit(&s);
    }
  }
}

static void slow_steps_take_longer(void) {
  int64_t e2e_us[3];
  static const double factors[] = {1, 4, 0.25};
  for (size_t i = 0; i < 3; i++) {
    site s;
    slow_pair(&s, 1);
    site_must_open(&s);
    act acts[] = {{.kind = SLOW, .factor = factors[i]}};
    schedule(&s, acts, 1);
    site_run(&s);
    e2e_us[i] = record_of(&s, 0)->e2e_us;
    site_deinit(&s);
  }
  CHECK(e2e_us[1] > e2e_us[0] * 39 / 10 && e2e_us[1] < e2e_us[0] * 41 / 10);
  CHECK(e2e_us[2] < e2e_us[0] * 26 / 100 && e2e_us[2] > e2e_us[0] * 24 / 100);
}

static blis_status fail_now(const blis_question *q, blis_decision *decision) {
  *decision = (blis_decision){.chosen = 0};
  return blis_cluster_instance_fail(*(blis_cluster **)q->state, 0, (blis_loss){0}, q->error);
}

static void wrong_calls_are_refused(void) {
  static const blis_router_ops ops = {.route = fail_now};
  site s;
  blis_error error;
  slow_pair(&s, 1);
  blis_router router = {.ops = &ops, .state = &s.cluster, .name = "failing"};
  site_must_open_with(&s, &router);
  CHECK_STATUS(blis_cluster_instance_fail(s.cluster, 2, (blis_loss){0}, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "no instance 2; there are 0 to 1");
  CHECK_STATUS(blis_cluster_instance_slow(s.cluster, 1, 0, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "instance_1: the factor of step times is 0");
  CHECK_OK(blis_cluster_instance_restore(s.cluster, 1, &error), &error);
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "during a decision");
  site_deinit(&s);
}

/* The only instance fails and comes back for ever, faster than it serves. */
static blis_status flap(void *ud, blis_cluster *cluster, blis_error *error) {
  BLIS_TRY(blis_cluster_instance_fail(cluster, 0, (blis_loss){.kind = BLIS_LOSS_REROUTED}, error));
  BLIS_TRY(blis_cluster_instance_restore(cluster, 0, error));
  return blis_cluster_call_at(cluster, blis_cluster_now_us(cluster) + 50, flap, ud, error);
}

static void a_run_that_gets_nowhere_is_stopped(void) {
  site s;
  blis_error error;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 3);
  site_must_open(&s);
  CHECK_OK(blis_cluster_call_at(s.cluster, 30000, flap, NULL, &error), &error);
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_STUCK);
  CHECK_CONTAINS(error.message, "request_0 was sent back to routing more than "
                                "10000 times, the last time at 530000 us");
  site_deinit(&s);
}

/* Random faults all along; every request still ends exactly once. */

enum { ACTS = 60, CROWD = 4 };

static void draw_acts(act *acts, int64_t seed) {
  static const double factors[] = {1, 0.3, 2, 9};
  blis_random random;
  blis_random_init(&random, seed);
  for (int i = 0; i < ACTS; i++) {
    int32_t kind = blis_random_intn(&random, 8);
    acts[i] = (act){.at_us = (int64_t)blis_random_intn(&random, 20000000),
                    .kind = kind > SLOW ? RESTORE : (act_kind)kind,
                    .index = (uint32_t)blis_random_intn(&random, CROWD),
                    .factor = factors[blis_random_intn(&random, 4)]};
  }
}

static void crowd(site *s, const char *policy, blis_engine_kind engine, int64_t seed) {
  site_init(s, blis_alloc_heap(), CROWD);
  s->policy = policy;
  s->config.cache_signal_delay_us = 50000;
  s->config.snapshot_refresh_us = seed % 2 == 0 ? 50000 : 0;
  s->config.routing_latency_us = seed % 3 == 0 ? 400 : 0;
  site_add_random_requests(s, 1000, 60, seed);
  for (size_t i = 0; i < 1000; i += 5) {
    s->source.requests[i].deadline_us = s->source.requests[i].arrival_us + 900000;
  }
  for (uint32_t i = 0; i < CROWD; i++) {
    s->instances[i].engine = engine;
    s->instances[i].kv_blocks = 400; /* so that there are preemptions */
  }
}

static void every_request_ends_once_whatever_fails(void) {
  static const char *const policies[] = {"round-robin", "least-loaded", "weighted",
                                         "lmetric",     "unified",      "cognitora.score"};
  int64_t failed = 0;
  int64_t rerouted = 0;
  for (size_t p = 0; p < 6; p++) {
    for (int64_t seed = 1; seed <= 6; seed++) {
      uint64_t hashes[2];
      for (int engine = 0; engine < 2; engine++) {
        site s;
        act acts[ACTS];
        draw_acts(acts, seed);
        crowd(&s, policies[p], engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST, seed);
        site_must_open(&s);
        schedule(&s, acts, ACTS);
        site_run(&s);
        site_check_states_sum_up(&s, 1000);
        site_check_counters_are_zero(&s);
        blis_cluster_counts c;
        blis_cluster_get_counts(s.cluster, &c);
        failed += c.failed;
        rerouted += c.rerouted;
        hashes[engine] = blis_recorder_hash(s.recorder);
        site_deinit(&s);
      }
      CHECK(hashes[0] == hashes[1]);
    }
  }
  CHECK(failed > 500 && rerouted > 500);
}

static blis_status run_with_faults(site *s, blis_error *error) {
  act acts[] = {{.at_us = 400000, .kind = FAIL_OVER, .index = 0},
                {.at_us = 500000, .kind = HAND_OVER, .index = 1},
                {.at_us = 700000, .kind = RESTORE, .index = 0},
                {.at_us = 900000, .kind = FAIL, .index = 0}};
  BLIS_TRY(try_schedule(s, acts, 4, error));
  return site_try_run(s, error);
}

static void no_memory_is_an_error(void) {
  for (int go_blis = 0; go_blis < 2; go_blis++) {
    site s;
    site_init(&s, blis_alloc_heap(), 3);
    s.policy = "weighted";
    s.go_blis = go_blis == 1; /* with it, the caches are asked */
    s.config.cache_signal_delay_us = 30000;
    s.config.snapshot_refresh_us = 30000;
    for (uint32_t i = 0; i < 3; i++) {
      s.instances[i].engine = go_blis == 1 ? BLIS_ENGINE_FAST : BLIS_ENGINE_STEPWISE;
      s.instances[i].kv_blocks = 200;
    }
    site_add_random_requests(&s, 60, 50, 11);
    long request = 1;
    while (!site_run_with_failure_at(&s, request, run_with_faults)) {
      request++;
    }
    CHECK(request > 60);
    s.alloc = blis_alloc_heap();
    site_deinit(&s);
  }
}

int main(void) {
  RUN(a_failure_loses_requests);
  RUN(a_failure_hands_requests_over);
  RUN(nobody_is_left);
  RUN(a_drained_instance_finishes_its_work);
  RUN(a_drained_instance_comes_back);
  RUN(a_restored_cache_is_cold);
  RUN(slow_steps_take_longer);
  RUN(wrong_calls_are_refused);
  RUN(a_run_that_gets_nowhere_is_stopped);
  RUN(every_request_ends_once_whatever_fails);
  RUN(no_memory_is_an_error);
  return check_done();
}
