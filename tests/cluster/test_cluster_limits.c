/* What a cluster does with limits, bad input and too little memory. */
#include "cluster_fixture.h"

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
  site_check_states_sum_up(&s, c.arrived);
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
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_NOMEM);
  CHECK_CONTAINS(error.message, "more than 100 requests");
  site_deinit(&s);
}

static void unsorted_requests_are_refused(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 3);
  s.source.requests[2].arrival_us = 5;
  site_must_open(&s);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_INVALID);
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
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_INTERRUPTED);
  site_deinit(&s);
}

static void bad_configurations_are_refused(void) {
  site s;
  blis_error error;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 1);
  const blis_cluster_config good = s.config;
  blis_cluster_config bad[4] = {good, good, good, good};
  bad[0].admission_latency_us = -1;
  bad[1].snapshot_refresh_us = -5;
  bad[2].instance_count = 0;
  bad[3].cache_signal_delay_us = -1;
  static const char *const parts[] = {"admission_latency_us is -1", "snapshot_refresh_us is -5",
                                      "number of instances is 0", "cache_signal_delay_us is -1"};
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

static blis_status choose_nobody(const blis_question *q, blis_decision *decision) {
  *decision = (blis_decision){.chosen = q->view->count};
  return BLIS_OK;
}

static void a_choice_beyond_the_candidates_is_an_error(void) {
  static const blis_router_ops ops = {.route = choose_nobody};
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 1);
  blis_router router = {.ops = &ops, .name = "nobody"};
  site_must_open_with(&s, &router);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_POLICY);
  CHECK_CONTAINS(error.message, "nobody: chose candidate 2 of 2");
  site_deinit(&s);
}

static void no_memory_is_an_error(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  s.policy = "weighted";
  site_add_random_requests(&s, 60, 50, 11);
  long request = 1;
  while (!site_run_with_failure_at(&s, request, site_try_run)) {
    request++;
  }
  CHECK(request > 30);
  s.alloc = blis_alloc_heap();
  site_deinit(&s);
}

int main(void) {
  RUN(horizon_leaves_requests_unfinished);
  RUN(too_many_requests_in_memory_stop_the_run);
  RUN(unsorted_requests_are_refused);
  RUN(interruption_stops_the_run);
  RUN(bad_configurations_are_refused);
  RUN(a_choice_beyond_the_candidates_is_an_error);
  RUN(no_memory_is_an_error);
  return check_done();
}
