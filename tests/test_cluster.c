/* The shared clock and the way of requests through a whole cluster. */
#include "cluster_fixture.h"

static const char *const policies[] = {"round-robin", "least-loaded",
                                       "weighted", "lmetric", "always-busiest"};
enum { POLICY_COUNT = sizeof policies / sizeof policies[0] };

static void check_states_sum_up(const site *s, int64_t arrived) {
  blis_cluster_counts c;
  blis_cluster_get_counts(s->cluster, &c);
  CHECK_EQ_I64(c.arrived, arrived);
  CHECK_EQ_I64(c.in_flight, 0);
  CHECK_EQ_I64(c.arrived, c.completed + c.rejected + c.timed_out +
                              c.unservable + c.unfinished);
  CHECK_EQ_I64(blis_recorder_count(s->recorder), arrived);
}

/* Counters of the router side are back at zero when everybody has left. */
static void check_counters_are_zero(const site *s) {
  for (uint32_t i = 0; i < s->config.instance_count; i++) {
    CHECK_EQ_DOUBLE(blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_PENDING),
                    0.0);
    CHECK_EQ_DOUBLE(blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_IN_FLIGHT),
                    0.0);
    CHECK_EQ_DOUBLE(
        blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_EFFECTIVE_LOAD), 0.0);
    CHECK_EQ_DOUBLE(
        blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_PENDING_PREFILL_TOKENS),
        0.0);
    CHECK(blis_instance_check(blis_cluster_instance(s->cluster, i)));
  }
}

static void every_request_ends_once(void) {
  for (int p = 0; p < POLICY_COUNT; p++) {
    site s;
    site_init(&s, blis_alloc_heap(), 4);
    s.policy = policies[p];
    site_add_random_requests(&s, 3000, 60, 1);
    for (size_t i = 0; i < 3000; i += 7) {
      s.source.requests[i].deadline_us =
          s.source.requests[i].arrival_us + 400000;
    }
    s.source.requests[100].prompt_tokens = 100000; /* can never fit */
    site_must_open(&s);
    site_run(&s);
    check_states_sum_up(&s, 3000);
    check_counters_are_zero(&s);
    blis_cluster_counts c;
    blis_cluster_get_counts(s.cluster, &c);
    CHECK_EQ_I64(c.unservable, 1);
    CHECK(c.timed_out > 0 && c.completed > 2000);
    site_deinit(&s);
  }
}

/* The same run by single steps, in pieces and at once. */
static void stepping_gives_the_same_result(void) {
  for (int p = 0; p < POLICY_COUNT; p++) {
    site s;
    site_init(&s, blis_alloc_heap(), 4);
    s.policy = policies[p];
    site_add_random_requests(&s, 1500, 50, 2);
    uint64_t expected = site_hash(&s);
    CHECK(site_hash(&s) == expected);

    blis_error error;
    site_must_open(&s);
    bool done = false;
    while (!done) {
      CHECK_OK(blis_cluster_step(s.cluster, &done, &error), &error);
    }
    CHECK_OK(blis_cluster_finish(s.cluster, &error), &error);
    CHECK(blis_recorder_hash(s.recorder) == expected);
    site_close(&s);

    site_must_open(&s);
    for (int64_t t = 0; t < 60000000; t += 777777) {
      CHECK_OK(blis_cluster_run_until(s.cluster, t, &error), &error);
      CHECK(blis_cluster_now_us(s.cluster) <= t);
    }
    site_run(&s);
    CHECK(blis_recorder_hash(s.recorder) == expected);
    site_deinit(&s);
  }
}

static void both_engines_give_the_same_result(void) {
  for (int p = 0; p < POLICY_COUNT; p++) {
    site s;
    site_init(&s, blis_alloc_heap(), 4);
    s.policy = policies[p];
    site_add_random_requests(&s, 2000, 70, 3);
    uint64_t expected = site_hash(&s);
    for (uint32_t i = 0; i < 4; i++) {
      s.instances[i].engine = BLIS_ENGINE_FAST;
    }
    CHECK(site_hash(&s) == expected);
    site_deinit(&s);
  }
}

static void seeds_and_policies_matter(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 4);
  s.policy = "least-loaded";
  s.go_blis = true; /* random ties */
  site_add_random_requests(&s, 500, 20, 4);
  uint64_t hash = site_hash(&s);
  s.seed = 43;
  CHECK(site_hash(&s) != hash);
  s.policy = "round-robin";
  CHECK(site_hash(&s) != hash);
  site_deinit(&s);
}

static int64_t instance_of(const site *s, int64_t number) {
  const blis_record *records = blis_recorder_records(s->recorder);
  for (size_t i = 0; i < blis_recorder_count(s->recorder); i++) {
    if (records[i].number == number) {
      return records[i].instance;
    }
  }
  return -2;
}

/* One instance alone, driven by hand, is what round-robin gives each. */
static void round_robin_is_n_single_instances(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 3);
  site_add_random_requests(&s, 600, 30, 5);
  site_must_open(&s);
  site_run(&s);
  for (int64_t i = 0; i < 600; i++) {
    CHECK_EQ_I64(instance_of(&s, i), i % 3);
  }
  uint64_t sum = 0;
  for (size_t k = 0; k < 3; k++) {
    site one;
    site_init(&one, blis_alloc_heap(), 1);
    site_add_requests(&one, 200);
    one.source.source.strings = s.strings;
    for (size_t i = 0; i < 200; i++) {
      one.source.requests[i] = s.source.requests[3 * i + k];
    }
    site_must_open(&one);
    site_run(&one);
    for (size_t i = 0; i < 200; i++) {
      blis_record record = blis_recorder_records(one.recorder)[i];
      record.instance = (int32_t)k;
      sum += blis_record_hash(&record);
    }
    site_deinit(&one);
  }
  CHECK(sum == blis_recorder_hash(s.recorder));
  site_deinit(&s);
}

/*
 * With a latency between the stages, all requests of a tick are admitted
 * before the first is routed, and every stage takes its time.
 */
static void latencies_delay_the_stages(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_random_requests(&s, 1, 1, 6);
  site_must_open(&s);
  site_run(&s);
  int64_t ttft_us = blis_recorder_records(s.recorder)[0].ttft_us;
  site_close(&s);
  s.config.admission_latency_us = 1000;
  s.config.routing_latency_us = 234;
  site_must_open(&s);
  site_run(&s);
  CHECK_EQ_I64(blis_recorder_records(s.recorder)[0].ttft_us, ttft_us + 1234);
  site_deinit(&s);
}

/* A router that notes what it is shown. */
typedef struct watcher {
  int64_t times_us[64];
  double values[64];
  size_t count;
  blis_signal signal;
} watcher;

static blis_status watch(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  (void)request, (void)error;
  watcher *w = state;
  const double *column = view->column(view->column_ud, w->signal);
  CHECK(column != NULL);
  CHECK(w->count < 64);
  w->times_us[w->count] = view->now_us;
  w->values[w->count++] = column[0];
  *decision = (blis_decision){.chosen = 0};
  return BLIS_OK;
}

static const blis_router_ops watch_ops = {.route = watch};

static void open_watched(site *s, watcher *w, blis_signal signal) {
  *w = (watcher){.signal = signal};
  blis_router router = {.ops = &watch_ops,
                        .state = w,
                        .needs = BLIS_SIGNALS_WITH_HISTORY,
                        .name = "watcher"};
  site_must_open_with(s, &router);
}

/* Requests at 20, 40, 60, ... ms that take long. */
static void add_slow_requests(site *s, size_t count) {
  site_add_requests(s, count);
  for (size_t i = 0; i < count; i++) {
    blis_request *r = &s->source.requests[i];
    r->arrival_us = 20000 * (int64_t)(i + 1);
    r->prompt_tokens = 160;
    r->output_tokens = 500;
    r->max_output_tokens = 500;
  }
}

/* The refresh is asked for by decisions, not by a clock of its own. */
static void stale_signals_are_read_again_on_demand(void) {
  site s;
  watcher w;
  site_init(&s, blis_alloc_heap(), 1);
  add_slow_requests(&s, 7);
  s.config.snapshot_refresh_us = 50000;
  open_watched(&s, &w, BLIS_SIGNAL_BATCH_SIZE);
  site_run(&s);
  static const double stale[] = {0, 0, 2, 2, 2, 5, 5};
  for (size_t i = 0; i < 7; i++) {
    CHECK_EQ_I64(w.times_us[i], 20000 * (int64_t)(i + 1));
    CHECK_EQ_DOUBLE(w.values[i], stale[i]);
  }
  site_close(&s);

  s.config.snapshot_refresh_us = 0;
  open_watched(&s, &w, BLIS_SIGNAL_BATCH_SIZE);
  site_run(&s);
  for (size_t i = 0; i < 7; i++) {
    CHECK_EQ_DOUBLE(w.values[i], (double)i);
  }
  site_close(&s);

  /* In-flight counters are current whatever the refresh interval. */
  s.config.snapshot_refresh_us = 50000;
  open_watched(&s, &w, BLIS_SIGNAL_IN_FLIGHT);
  site_run(&s);
  for (size_t i = 0; i < 7; i++) {
    CHECK_EQ_DOUBLE(w.values[i], (double)i);
  }
  site_close(&s);

  s.config.load_counts_in_flight = true;
  open_watched(&s, &w, BLIS_SIGNAL_EFFECTIVE_LOAD);
  site_run(&s);
  for (size_t i = 0; i < 7; i++) {
    CHECK_EQ_DOUBLE(w.values[i], stale[i] + (double)i);
  }
  site_deinit(&s);
}

/* Simultaneous requests see each other's routing, not each other's queueing. */
static void pending_requests_count_as_load(void) {
  site s;
  watcher w;
  site_init(&s, blis_alloc_heap(), 1);
  add_slow_requests(&s, 4);
  for (size_t i = 0; i < 4; i++) {
    s.source.requests[i].arrival_us = i < 3 ? 1000 : 1000000;
  }
  static const blis_signal signals[] = {
      BLIS_SIGNAL_PENDING, BLIS_SIGNAL_EFFECTIVE_LOAD,
      BLIS_SIGNAL_PENDING_PREFILL_TOKENS, BLIS_SIGNAL_REQUESTS};
  static const double expected[][4] = {
      {0, 1, 2, 0}, {0, 1, 2, 3}, {0, 160, 320, 0}, {0, 1, 2, 3}};
  for (size_t k = 0; k < 4; k++) {
    open_watched(&s, &w, signals[k]);
    site_run(&s);
    for (size_t i = 0; i < 4; i++) {
      CHECK_EQ_DOUBLE(w.values[i], expected[k][i]);
    }
    site_close(&s);
  }
  site_deinit(&s);
}

/* A router that compares every column it is shown with the live value. */
typedef struct auditor {
  const blis_cluster *cluster;
  blis_random random;
  int64_t decisions;
} auditor;

static blis_status audit(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  (void)request, (void)error;
  auditor *a = state;
  for (int k = 0; k < BLIS_SIGNAL_COUNT; k++) {
    blis_signal signal = (blis_signal)k;
    if (signal == BLIS_SIGNAL_CACHED_TOKENS ||
        signal == BLIS_SIGNAL_PREFIX_HIT) {
      continue;
    }
    /* Half of them are looked at late, and only now and then. */
    if (view->columns[signal] == NULL && a->decisions % 40 != 2 * k) {
      continue;
    }
    const double *column = view->column(view->column_ud, signal);
    for (size_t i = 0; i < view->count; i++) {
      CHECK_EQ_DOUBLE(column[i],
                      blis_cluster_signal(a->cluster, (uint32_t)i, signal));
    }
  }
  a->decisions++;
  int32_t chosen = blis_random_intn(&a->random, (int32_t)view->count);
  *decision = (blis_decision){.chosen = (size_t)chosen};
  return BLIS_OK;
}

static const blis_router_ops audit_ops = {.route = audit};

static void columns_are_live_without_a_refresh_interval(void) {
  for (int engine = 0; engine < 2; engine++) {
    site s;
    auditor a = {.decisions = 0};
    blis_random_init(&a.random, 3);
    site_init(&s, blis_alloc_heap(), 3);
    site_add_random_requests(&s, 600, 80, 17);
    for (uint32_t i = 0; i < 3; i++) {
      s.instances[i].kv_blocks = 300; /* so that there are preemptions */
      s.instances[i].engine =
          engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
    }
    blis_router router = {.ops = &audit_ops,
                          .state = &a,
                          .needs = BLIS_SIGNALS_WITH_HISTORY |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING),
                          .name = "auditor"};
    site_must_open_with(&s, &router);
    a.cluster = s.cluster;
    site_run(&s);
    check_states_sum_up(&s, 600);
    check_counters_are_zero(&s);
    CHECK_EQ_I64(a.decisions, 600);
    double preemptions =
        blis_cluster_signal(s.cluster, 0, BLIS_SIGNAL_PREEMPTIONS);
    CHECK(preemptions > 0);
    site_deinit(&s);
  }
}

/* The second request of a group finds the group's prefix in the cache. */
static void cached_prefix_is_shown(void) {
  site s;
  watcher w;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 2, 1, 7);
  s.source.requests[1].arrival_us = 50000000;
  s.source.requests[1].segments = s.source.requests[0].segments;
  s.source.requests[1].prefix_group = s.source.requests[0].prefix_group;
  s.source.requests[1].prompt_tokens = 400;
  open_watched(&s, &w, BLIS_SIGNAL_CACHED_TOKENS);
  site_run(&s);
  CHECK_EQ_DOUBLE(w.values[0], 0.0);
  CHECK_EQ_DOUBLE(w.values[1], 192.0); /* 12 blocks of 16 of 200 tokens */
  site_close(&s);
  open_watched(&s, &w, BLIS_SIGNAL_PREFIX_HIT);
  site_run(&s);
  CHECK_EQ_DOUBLE(w.values[1], 12.0 / 25);
  site_deinit(&s);
}

/* sim:at functions. */

typedef struct call_log {
  char text[64];
  int64_t period_us;
  int left;
} call_log;

static blis_status note_arrivals(void *ud, blis_cluster *cluster,
                                 blis_error *error) {
  call_log *log = ud;
  blis_cluster_counts c;
  blis_cluster_get_counts(cluster, &c);
  double batch = blis_cluster_signal(cluster, 0, BLIS_SIGNAL_PENDING) +
                 blis_cluster_signal(cluster, 0, BLIS_SIGNAL_QUEUE_DEPTH) +
                 blis_cluster_signal(cluster, 0, BLIS_SIGNAL_BATCH_SIZE);
  size_t used = strlen(log->text);
  snprintf(log->text + used, sizeof log->text - used, "%d@%d:%d ", (int)batch,
           (int)blis_cluster_now_us(cluster), (int)c.routed);
  if (--log->left > 0) {
    return blis_cluster_call_at(cluster,
                                blis_cluster_now_us(cluster) + log->period_us,
                                note_arrivals, log, error);
  }
  return BLIS_OK;
}

static void calls_come_after_arrivals_and_before_steps(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  add_slow_requests(&s, 4);
  site_must_open(&s);
  call_log log = {.period_us = 20000, .left = 3};
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s.cluster, 20000, note_arrivals, &log, &error),
           &error);
  CHECK_OK(blis_cluster_run_until(s.cluster, 70000, &error), &error);
  CHECK_STR(log.text, "1@20000:1 2@40000:2 3@60000:3 ");
  CHECK_EQ_I64(blis_cluster_now_us(s.cluster), 70000);
  CHECK_STATUS(
      blis_cluster_call_at(s.cluster, 69999, note_arrivals, &log, &error),
      BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "69999 us is over");
  site_run(&s);
  check_states_sum_up(&s, 4);
  site_deinit(&s);
}

static blis_status call_again_now(void *ud, blis_cluster *cluster,
                                  blis_error *error) {
  return blis_cluster_call_at(cluster, blis_cluster_now_us(cluster),
                              call_again_now, ud, error);
}

static void calls_without_end_are_noticed(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  add_slow_requests(&s, 1);
  site_must_open(&s);
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s.cluster, 5, call_again_now, NULL, &error),
           &error);
  CHECK_STATUS(blis_cluster_run_until(s.cluster, 100, &error), BLIS_ERR_STUCK);
  CHECK_CONTAINS(error.message, "at 5 us");
  site_deinit(&s);
}

static blis_status call_again_later(void *ud, blis_cluster *cluster,
                                    blis_error *error) {
  return blis_cluster_call_at(cluster, blis_cluster_now_us(cluster) + 10,
                              call_again_later, ud, error);
}

/* A function that never stops may do so while there are requests to serve. */
static void calls_beyond_the_last_request_are_noticed(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  add_slow_requests(&s, 1);
  site_must_open(&s);
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s.cluster, 0, call_again_later, NULL, &error),
           &error);
  CHECK_OK(blis_cluster_run_until(s.cluster, 9000000, &error), &error);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.completed, 1);
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error),
               BLIS_ERR_STUCK);
  CHECK_CONTAINS(error.message, "0 requests are waiting");
  site_deinit(&s);
}

/* Admission. */

static blis_status delay_always(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view,
                                blis_admission_decision *decision,
                                blis_error *error) {
  (void)request, (void)view, (void)error;
  *decision = (blis_admission_decision){.verdict = BLIS_DELAY,
                                        .delay_us = *(int64_t *)state};
  return BLIS_OK;
}

static void delays_without_end_are_noticed(void) {
  static const blis_admission_ops ops = {.decide = delay_always};
  static const struct {
    int64_t delay_us;
    blis_status status;
    const char *part;
  } cases[] = {{7, BLIS_ERR_STUCK, "1 requests are waiting"},
               {0, BLIS_ERR_POLICY, "delays request_0 by 0 us"}};
  for (size_t i = 0; i < 2; i++) {
    site s;
    site_init(&s, blis_alloc_heap(), 1);
    add_slow_requests(&s, 1);
    site_must_open(&s);
    int64_t delay_us = cases[i].delay_us;
    blis_admission admission = {
        .ops = &ops, .state = &delay_us, .name = "never"};
    blis_cluster_set_admission(s.cluster, &admission);
    blis_error error;
    CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error),
                 cases[i].status);
    CHECK_CONTAINS(error.message, cases[i].part);
    site_deinit(&s);
  }
}

typedef struct gate {
  int64_t asked;
  int64_t ended;
} gate;

/* Rejects every fifth, makes every third wait for 10 ms once. */
static blis_status guard(void *state, const blis_routing_request *request,
                         const blis_routing_view *view,
                         blis_admission_decision *decision, blis_error *error) {
  (void)error;
  gate *g = state;
  g->asked++;
  CHECK(view->count == 2);
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (request->number % 5 == 0) {
    *decision = (blis_admission_decision){.verdict = BLIS_REJECT,
                                          .reason = "every fifth"};
  } else if (request->number % 3 == 0 && view->now_us == request->arrival_us) {
    *decision =
        (blis_admission_decision){.verdict = BLIS_DELAY, .delay_us = 10000};
  }
  return BLIS_OK;
}

static void note_end(void *state, blis_ticket *ticket) {
  (void)ticket;
  gate *g = state;
  g->ended++;
}

static const blis_admission_ops guard_ops = {.decide = guard,
                                             .ended = note_end};

static void admission_rejects_and_delays(void) {
  site s;
  gate g = {0};
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 100, 10, 8);
  site_must_open(&s);
  blis_admission admission = {.ops = &guard_ops, .state = &g, .name = "guard"};
  blis_cluster_set_admission(s.cluster, &admission);
  site_run(&s);
  check_states_sum_up(&s, 100);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.rejected, 20);
  CHECK_EQ_I64(g.asked, 100 + 27);
  CHECK_EQ_I64(g.ended, 80);
  for (size_t i = 0; i < 100; i++) {
    const blis_record *r = &blis_recorder_records(s.recorder)[i];
    CHECK_STR(blis_recorder_reason(s.recorder, r),
              r->number % 5 == 0 ? "every fifth" : "");
    CHECK(r->number % 5 != 0 || r->instance == -1);
    CHECK(r->number % 3 != 0 || r->number % 5 == 0 || r->ttft_us > 10000);
  }
  site_deinit(&s);
}

static void built_in_admission(void) {
  blis_error error;
  static const int64_t rejected[] = {0, 50};
  CHECK_EQ_I64(blis_admission_entry_count(), 2);
  for (size_t i = 0; i < 2; i++) {
    site s;
    site_init(&s, blis_alloc_heap(), 2);
    site_add_random_requests(&s, 50, 10, 8);
    site_must_open(&s);
    blis_policy_context context = site_context(&s);
    blis_admission admission = {0};
    CHECK_OK(blis_admission_create(&s.alloc, blis_admission_entry_at(i)->name,
                                   NULL, &context, &admission, &error),
             &error);
    blis_cluster_set_admission(s.cluster, &admission);
    site_run(&s);
    blis_cluster_counts c;
    blis_cluster_get_counts(s.cluster, &c);
    CHECK_EQ_I64(c.rejected, rejected[i]);
    site_deinit(&s);
  }
  blis_alloc alloc = blis_alloc_heap();
  blis_admission admission = {0};
  CHECK_STATUS(blis_admission_create(&alloc, "always_admitt", NULL,
                                     &(blis_policy_context){0}, &admission,
                                     &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "did you mean 'always-admit'?");
}

/* Limits and bad input. */

static void horizon_leaves_requests_unfinished(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 1000, 50, 9);
  s.config.horizon_us = 5000000;
  site_must_open(&s);
  site_run(&s);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK(c.arrived < 1000 && c.unfinished > 0);
  check_states_sum_up(&s, c.arrived);
  CHECK(blis_cluster_now_us(s.cluster) <= 5000000);
  site_deinit(&s);
}

static void too_many_requests_in_memory_stop_the_run(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_random_requests(&s, 1000, 1000, 10);
  s.config.max_requests_in_memory = 100;
  site_must_open(&s);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error),
               BLIS_ERR_NOMEM);
  CHECK_CONTAINS(error.message, "more than 100 requests");
  site_deinit(&s);
}

static void unsorted_requests_are_refused(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  add_slow_requests(&s, 3);
  s.source.requests[2].arrival_us = 5;
  site_must_open(&s);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "request_2 arrives at 5 us");
  site_deinit(&s);
}

static bool interrupt_at_once(void *ud) {
  (void)ud;
  return true;
}

static void interruption_stops_the_run(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_random_requests(&s, 1000, 50, 9);
  s.config.interrupted = interrupt_at_once;
  site_must_open(&s);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error),
               BLIS_ERR_INTERRUPTED);
  site_deinit(&s);
}

static void bad_configurations_are_refused(void) {
  site s;
  blis_error error;
  site_init(&s, blis_alloc_heap(), 2);
  add_slow_requests(&s, 1);
  const blis_cluster_config good = s.config;
  blis_cluster_config bad[4] = {good, good, good, good};
  bad[0].admission_latency_us = -1;
  bad[1].snapshot_refresh_us = -5;
  bad[2].instance_count = 0;
  bad[3].cache_signal_delay_us = 1;
  static const char *const parts[] = {
      "admission_latency_us is -1", "snapshot_refresh_us is -5",
      "number of instances is 0", "cache_signal_delay_us is 1"};
  for (size_t i = 0; i < 4; i++) {
    s.config = bad[i];
    CHECK_STATUS(site_open(&s, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, parts[i]);
    site_close(&s);
  }
  s.config = good;
  s.instances[1].kv_blocks = 0;
  CHECK_STATUS(site_open(&s, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "instance_1: kv_blocks is 0");
  site_deinit(&s);
}

static blis_status choose_nobody(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view,
                                 blis_decision *decision, blis_error *error) {
  (void)state, (void)request, (void)error;
  *decision = (blis_decision){.chosen = view->count};
  return BLIS_OK;
}

static void a_choice_beyond_the_candidates_is_an_error(void) {
  static const blis_router_ops ops = {.route = choose_nobody};
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  add_slow_requests(&s, 1);
  blis_router router = {.ops = &ops, .name = "nobody"};
  site_must_open_with(&s, &router);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error),
               BLIS_ERR_POLICY);
  CHECK_CONTAINS(error.message, "nobody: chose candidate 2 of 2");
  site_deinit(&s);
}

static bool run_with_failure_at(site *s, long request) {
  blis_alloc_probe memory = {.fail_at = request, .fail_forever = 1};
  s->alloc = blis_alloc_probed(&memory);
  blis_error error = {0};
  blis_status status = site_open(s, &error);
  if (status == BLIS_OK) {
    status = blis_cluster_run_until(s->cluster, BLIS_TIME_NEVER_US, &error);
  }
  if (status == BLIS_OK) {
    status = blis_cluster_finish(s->cluster, &error);
  }
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  site_close(s);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status == BLIS_OK;
}

static void no_memory_is_an_error(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  s.policy = "weighted";
  site_add_random_requests(&s, 60, 50, 11);
  long request = 1;
  while (!run_with_failure_at(&s, request)) {
    request++;
  }
  CHECK(request > 30);
  s.alloc = blis_alloc_heap();
  site_deinit(&s);
}

int main(void) {
  RUN(every_request_ends_once);
  RUN(stepping_gives_the_same_result);
  RUN(both_engines_give_the_same_result);
  RUN(seeds_and_policies_matter);
  RUN(round_robin_is_n_single_instances);
  RUN(latencies_delay_the_stages);
  RUN(stale_signals_are_read_again_on_demand);
  RUN(pending_requests_count_as_load);
  RUN(columns_are_live_without_a_refresh_interval);
  RUN(cached_prefix_is_shown);
  RUN(calls_come_after_arrivals_and_before_steps);
  RUN(calls_without_end_are_noticed);
  RUN(calls_beyond_the_last_request_are_noticed);
  RUN(delays_without_end_are_noticed);
  RUN(admission_rejects_and_delays);
  RUN(built_in_admission);
  RUN(horizon_leaves_requests_unfinished);
  RUN(too_many_requests_in_memory_stop_the_run);
  RUN(unsorted_requests_are_refused);
  RUN(interruption_stops_the_run);
  RUN(bad_configurations_are_refused);
  RUN(a_choice_beyond_the_candidates_is_an_error);
  RUN(no_memory_is_an_error);
  return check_done();
}
