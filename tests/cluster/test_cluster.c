/* The way of requests through a whole cluster, and the shared clock. */
#include "cluster_fixture.h"

/* Instances may lag behind under some of them, and must not under others. */
static const char *const policies[] = {"round-robin",   "least-loaded", "weighted",
                                       "lmetric",       "random",       "vllm-stack.prefixaware",
                                       "always-busiest"};
enum { POLICY_COUNT = sizeof policies / sizeof policies[0] };
static void every_request_ends_once(void) {
  for (int p = 0; p < POLICY_COUNT; p++) {
    site s;
    site_init(&s, blis_alloc_heap(), 4);
    s.policy = policies[p];
    site_add_random_requests(&s, 3000, 60, 1);
    for (size_t i = 0; i < 3000; i += 7) {
      s.source.requests[i].deadline_us = s.source.requests[i].arrival_us + 400000;
    }
    s.source.requests[100].prompt_tokens = 100000; /* can never fit */
    site_must_open(&s);
    site_run(&s);
    site_check_states_sum_up(&s, 3000);
    site_check_counters_are_zero(&s);
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
    CHECK_OK(site_step_to_end(&s, NULL, &error), &error);
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

static int64_t instance_of(site *s, int64_t number) {
  const blis_record *records = site_records(s);
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
      blis_record record = site_records(&one)[i];
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
  int64_t ttft_us = site_records(&s)[0].ttft_us;
  site_close(&s);
  s.config.admission_latency_us = 1000;
  s.config.routing_latency_us = 234;
  site_must_open(&s);
  site_run(&s);
  CHECK_EQ_I64(site_records(&s)[0].ttft_us, ttft_us + 1234);
  site_deinit(&s);
}

/* sim:at functions. */

typedef struct call_log {
  char text[64];
  int64_t period_us;
  int left;
} call_log;

static blis_status note_arrivals(void *ud, blis_cluster *cluster, blis_error *error) {
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
    return blis_cluster_call_at(cluster, blis_cluster_now_us(cluster) + log->period_us,
                                note_arrivals, log, error);
  }
  return BLIS_OK;
}

static void calls_come_after_arrivals_and_before_steps(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 4);
  site_must_open(&s);
  call_log log = {.period_us = 20000, .left = 3};
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s.cluster, 20000, note_arrivals, &log, &error), &error);
  CHECK_OK(blis_cluster_run_until(s.cluster, 70000, &error), &error);
  CHECK_STR(log.text, "1@20000:1 2@40000:2 3@60000:3 ");
  CHECK_EQ_I64(blis_cluster_now_us(s.cluster), 70000);
  CHECK_STATUS(blis_cluster_call_at(s.cluster, 69999, note_arrivals, &log, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "69999 us is in the past");
  site_run(&s);
  site_check_states_sum_up(&s, 4);
  site_deinit(&s);
}

static blis_status call_again_now(void *ud, blis_cluster *cluster, blis_error *error) {
  return blis_cluster_call_at(cluster, blis_cluster_now_us(cluster), call_again_now, ud, error);
}

static void calls_without_end_are_noticed(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 1);
  site_must_open(&s);
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s.cluster, 5, call_again_now, NULL, &error), &error);
  CHECK_STATUS(blis_cluster_run_until(s.cluster, 100, &error), BLIS_ERR_STUCK);
  CHECK_CONTAINS(error.message, "at 5 us");
  site_deinit(&s);
}

static blis_status call_again_later(void *ud, blis_cluster *cluster, blis_error *error) {
  return blis_cluster_call_at(cluster, blis_cluster_now_us(cluster) + 10, call_again_later, ud,
                              error);
}

/* A function that never stops may do so while there are requests to serve. */
static void calls_beyond_the_last_request_are_noticed(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 1);
  site_must_open(&s);
  blis_error error;
  CHECK_OK(blis_cluster_call_at(s.cluster, 0, call_again_later, NULL, &error), &error);
  CHECK_OK(blis_cluster_run_until(s.cluster, 9000000, &error), &error);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.completed, 1);
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_STUCK);
  CHECK_CONTAINS(error.message, "0 requests are waiting");
  site_deinit(&s);
}

int main(void) {
  RUN(every_request_ends_once);
  RUN(stepping_gives_the_same_result);
  RUN(both_engines_give_the_same_result);
  RUN(seeds_and_policies_matter);
  RUN(round_robin_is_n_single_instances);
  RUN(latencies_delay_the_stages);
  RUN(calls_come_after_arrivals_and_before_steps);
  RUN(calls_without_end_are_noticed);
  RUN(calls_beyond_the_last_request_are_noticed);
  return check_done();
}
