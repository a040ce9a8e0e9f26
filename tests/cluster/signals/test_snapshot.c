/* What policies are shown of the instances, and how fresh it is. */
#include "cluster_fixture.h"

/* A router that notes what it is shown. */
typedef struct watcher {
  int64_t times_us[64];
  double values[64];
  size_t count;
  blis_signal signal;
} watcher;

static blis_status watch(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  watcher *w = q->state;
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
  blis_router router = {
      .ops = &watch_ops, .state = w, .needs = BLIS_SIGNALS_WITH_HISTORY, .name = "watcher"};
  site_must_open_with(s, &router);
}

/* The refresh is asked for by decisions, not by a clock of its own. */
static void stale_signals_are_read_again_on_demand(void) {
  site s;
  watcher w;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 7);
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
  site_add_slow_requests(&s, 4);
  for (size_t i = 0; i < 4; i++) {
    s.source.requests[i].arrival_us = i < 3 ? 1000 : 1000000;
  }
  static const blis_signal signals[] = {BLIS_SIGNAL_PENDING, BLIS_SIGNAL_EFFECTIVE_LOAD,
                                        BLIS_SIGNAL_PENDING_PREFILL_TOKENS, BLIS_SIGNAL_REQUESTS};
  static const double expected[][4] = {{0, 1, 2, 0}, {0, 1, 2, 3}, {0, 160, 320, 0}, {0, 1, 2, 3}};
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

static blis_status audit(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  auditor *a = q->state;
  for (int k = 0; k < BLIS_SIGNAL_COUNT; k++) {
    blis_signal signal = (blis_signal)k;
    if ((BLIS_SIGNAL_BIT(signal) & BLIS_SIGNALS_OF_REQUEST) != 0) {
      continue;
    }
    /* Half of them are looked at late, and only now and then. */
    if (view->columns[signal] == NULL && a->decisions % 40 != 2L * k) {
      continue;
    }
    const double *column = view->column(view->column_ud, signal);
    for (size_t i = 0; i < view->count; i++) {
      CHECK_EQ_DOUBLE(column[i], blis_cluster_signal(a->cluster, (uint32_t)i, signal));
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
      s.instances[i].engine = engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
    }
    blis_router router = {.ops = &audit_ops,
                          .state = &a,
                          .needs = BLIS_SIGNALS_WITH_HISTORY | BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING),
                          .name = "auditor"};
    site_must_open_with(&s, &router);
    a.cluster = s.cluster;
    site_run(&s);
    site_check_states_sum_up(&s, 600);
    site_check_counters_are_zero(&s);
    CHECK_EQ_I64(a.decisions, 600);
    double preemptions = blis_cluster_signal(s.cluster, 0, BLIS_SIGNAL_PREEMPTIONS);
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

int main(void) {
  RUN(stale_signals_are_read_again_on_demand);
  RUN(pending_requests_count_as_load);
  RUN(columns_are_live_without_a_refresh_interval);
  RUN(cached_prefix_is_shown);
  return check_done();
}
