/*
 * Cascades under random traffic: what holds of every run whatever the cascade
 * does.
 */
#include "cascade_fixture.h"

static void random_three(three *t, blis_engine_kind engine, int64_t seed) {
  static const char *const routers[] = {"round-robin", "weighted", "cognitora.score", "lmetric"};
  three_init(t, blis_alloc_heap(), engine);
  t->site.policy = routers[seed % 4];
  t->site.seed = seed;
  three_add_chain(t, NULL, "small,mid,large");
  three_add_threshold(t, -1.0);
  static const char *const models[] = {"small", "mid", "large"};
  for (size_t i = 0; i < 3; i++) {
    three_add_logprob(t, models[i], -1.3 + 0.3 * (double)i);
    three_add_param(t, (blis_param){.name = "logprob_std_dev", .key = models[i], .number = 0.5});
  }
  site_add_random_requests(&t->site, 300, 40, seed);
  for (size_t i = 0; i < t->site.source.count; i++) {
    blis_request *r = &t->site.source.requests[i];
    if (i % 7 == 0) {
      r->deadline_us = r->arrival_us + 2000000;
    }
    if (i % 11 == 0) {
      r->model = three_text_number(t, i % 2 == 0 ? "mid" : "small");
      r->cascade = three_text_number(t, "-");
    }
  }
  t->site.instances[2].kv_blocks = 30; /* too few for the longest */
}

/* Every request ends once; its attempts are a way through the chain. */
static void check_conserved(const three *t) {
  const blis_recorder *recorder = t->site.recorder;
  const blis_attempts *attempts = blis_recorder_attempts(recorder);
  blis_cluster_counts counts;
  blis_cluster_get_counts(t->site.cluster, &counts);
  size_t seen = 0;
  int64_t itl_count = 0;
  int64_t routed = 0;
  int64_t output_tokens = 0;
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record kept = blis_recorder_record(recorder, i);
    const blis_record *record = &kept;
    if (blis_record_is_completed(record)) {
      itl_count += record->itl_count;
      output_tokens += record->output_tokens;
    }
    size_t count;
    const blis_attempt_record *own =
        blis_attempts_of(attempts, record->arrival_us, record->number, &count);
    seen += count;
    routed += count == 0 && record->instance >= 0;
    for (size_t k = 0; k < count; k++) {
      routed += own[k].instance >= 0;
      CHECK_EQ_I64(own[k].step, k + 1);
      CHECK_EQ_I64(own[k].stage, k);
      bool is_last = k + 1 == count;
      CHECK(is_last == (own[k].verdict != BLIS_CASCADE_ESCALATE));
      CHECK_EQ_I64(own[k].start_us, k == 0 ? record->arrival_us : own[k - 1].end_us);
      CHECK(!is_last || (own[k].state == record->state && own[k].instance == record->instance &&
                         own[k].end_us == record->end_us));
    }
  }
  CHECK_EQ_I64(seen, attempts->records.count);
  CHECK_EQ_I64(attempts->all.attempts, seen);
  CHECK_EQ_I64(attempts->all.verdicts[BLIS_CASCADE_ESCALATE], counts.escalated);
  blis_summary summary;
  blis_error error;
  CHECK_OK(blis_summary_init(&summary, &t->site.alloc, t->site.cluster, recorder,
                             (blis_histogram *)&t->site.itl_us, &error),
           &error);
  /* Only answers that somebody got are counted. */
  CHECK_EQ_I64(summary.times.itl.count, itl_count);
  CHECK_EQ_I64(summary.output_tokens, output_tokens);
  for (uint32_t i = 0; i < THREE_INSTANCES; i++) {
    routed -= summary.instances[i].requests;
  }
  CHECK_EQ_I64(routed, 0);
  blis_summary_deinit(&summary, &t->site.alloc);
}

static uint64_t run_random(blis_engine_kind engine, int64_t seed, bool by_steps) {
  three t;
  random_three(&t, engine, seed);
  three_must_open(&t);
  blis_error error;
  CHECK_OK(blis_cluster_run_until(t.site.cluster, 1000000, &error), &error);
  CHECK_OK(blis_cluster_instance_fail(
               t.site.cluster, 0,
               (blis_loss){.kind = seed % 2 == 0 ? BLIS_LOSS_REROUTED : BLIS_LOSS_USUAL}, &error),
           &error);
  bool done = !by_steps;
  while (!done) {
    CHECK_OK(blis_cluster_step(t.site.cluster, &done, &error), &error);
  }
  site_run(&t.site);
  CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
  site_check_states_sum_up(&t.site, 300);
  site_check_counters_are_zero(&t.site);
  check_conserved(&t);
  uint64_t hash = blis_recorder_hash(t.site.recorder);
  site_close(&t.site);
  site_deinit(&t.site);
  return hash;
}

static void test_random_traffic(void) {
  for (int64_t seed = 1; seed <= 16; seed++) {
    uint64_t hash = run_random(BLIS_ENGINE_STEPWISE, seed, false);
    CHECK(run_random(BLIS_ENGINE_FAST, seed, false) == hash);
    CHECK(run_random(BLIS_ENGINE_FAST, seed, true) == hash);
    CHECK(run_random(BLIS_ENGINE_STEPWISE, seed, true) == hash);
  }
}

/* A higher threshold asks the same models, and perhaps more of them. */
static void test_threshold_is_monotone(void) {
  int64_t escalated = -1;
  for (int step = 0; step < 6; step++) {
    three t;
    random_three(&t, BLIS_ENGINE_FAST, 3);
    t.params[3].number = -2.5 + 0.5 * step;
    CHECK_STR(t.params[3].name, "confidence_threshold");
    three_must_open(&t);
    site_run(&t.site);
    blis_cluster_counts counts;
    blis_cluster_get_counts(t.site.cluster, &counts);
    CHECK(counts.escalated > escalated);
    escalated = counts.escalated;
    site_close(&t.site);
    site_deinit(&t.site);
  }
}

/* The run ends in the middle. */
static void test_horizon(void) {
  for (int engine = 0; engine < 2; engine++) {
    three t;
    random_three(&t, (blis_engine_kind)engine, 5);
    t.site.config.horizon_us = 2000000;
    three_must_open(&t);
    site_run(&t.site);
    CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
    blis_cluster_counts counts;
    blis_cluster_get_counts(t.site.cluster, &counts);
    CHECK(counts.unfinished > 0 && counts.escalated > 0);
    const blis_attempts *attempts = blis_recorder_attempts(t.site.recorder);
    CHECK(attempts->all.verdicts[BLIS_CASCADE_UNFINISHED] > 0);
    check_conserved(&t);
    site_close(&t.site);
    site_deinit(&t.site);
  }
}

int main(void) {
  RUN(test_random_traffic);
  RUN(test_threshold_is_monotone);
  RUN(test_horizon);
  return check_done();
}
