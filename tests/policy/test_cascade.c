/*
 * Cascades over chains of models: the worked examples of Cognitora's document,
 * and how attempts follow each other.
 */
#include <math.h>

#include "cascade_fixture.h"

static void test_example_of_the_document(void) {
  static const struct {
    double small, mid, large;
    const char *story;
  } cases[] = {
      {-0.5, -9, -9, "small:accept"},
      {-1.0, -9, -9, "small:accept"}, /* equal is good enough */
      {-1.5, -0.9, -9, "small:escalate mid:accept"},
      {-1.5, -1.0, -9, "small:escalate mid:accept"},
      {-1.5, -1.1, -0.2, "small:escalate mid:escalate large:accept"},
      {-1.5, -1.1, -9, "small:escalate mid:escalate large:accept_last"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), (blis_engine_kind)(i % 2));
    three_add_chain(&t, NULL, "small,mid,large");
    three_add_threshold(&t, -1.0);
    three_add_logprob(&t, "small", cases[i].small);
    three_add_logprob(&t, "mid", cases[i].mid);
    three_add_logprob(&t, "large", cases[i].large);
    three_add_request(&t, 10);
    three_check_story(&t, cases[i].story);
    site_deinit(&t.site);
  }
}

/* Threshold -1.5 sends on answers of one token, -1.0 those of up to two. */
static void test_length_in_place_of_logprobs(void) {
  CHECK_EQ_DOUBLE(blis_cascade_substitute_logprob(0), -2.0);
  CHECK_EQ_DOUBLE(blis_cascade_substitute_logprob(1), -2.0);
  CHECK(fabs(blis_cascade_substitute_logprob(2) - -1.4427) < 5e-5);
  CHECK(fabs(blis_cascade_substitute_logprob(3) - -0.9102) < 5e-5);
  CHECK(fabs(blis_cascade_substitute_logprob(10) - -0.4343) < 5e-5);
  for (uint32_t tokens = 1; tokens <= 3; tokens++) {
    for (int low = 0; low < 2; low++) {
      three t;
      three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
      three_add_chain(&t, NULL, "small,large");
      if (!low) {
        three_add_threshold(&t, -1.0);
      }
      three_add_request(&t, tokens);
      bool is_short = tokens <= (low ? 1 : 2);
      three_check_story(&t, is_short ? "small:escalate large:accept_last" : "small:accept");
      site_deinit(&t.site);
    }
  }
}

/* What one model alone takes for the request, from start to end. */
static int64_t duration_with(const char *model) {
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_STEPWISE);
  three_add_chain(&t, NULL, model);
  three_add_request(&t, 10);
  three_must_open(&t);
  site_run(&t.site);
  const blis_record *record = three_record(&t);
  int64_t us = record->end_us - record->arrival_us;
  site_close(&t.site);
  site_deinit(&t.site);
  return us;
}

static void test_times_are_those_of_the_last_attempt(void) {
  int64_t alone_us = duration_with("small");
  for (int engine = 0; engine < 2; engine++) {
    three t;
    three_init(&t, blis_alloc_heap(), (blis_engine_kind)engine);
    t.site.config.admission_latency_us = 300;
    t.site.config.routing_latency_us = 70;
    three_add_chain(&t, NULL, "small,large");
    three_add_logprob(&t, "small", -3);
    three_add_logprob(&t, "large", -0.1);
    three_add_request(&t, 10);
    three_must_open(&t);
    site_run(&t.site);
    CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
    const blis_record *record = three_record(&t);
    size_t count;
    const blis_attempt_record *attempts =
        blis_attempts_of(blis_recorder_attempts(t.site.recorder), 1000, 0, &count);
    CHECK_EQ_I64(count, 2);
    CHECK_EQ_I64(attempts[0].start_us, 1000);
    CHECK_EQ_I64(attempts[0].end_us, 1000 + 370 + alone_us);
    CHECK_EQ_I64(attempts[1].start_us, attempts[0].end_us);
    CHECK_EQ_I64(attempts[1].end_us, 1000 + 2 * (370 + alone_us));
    CHECK_EQ_I64(record->end_us, attempts[1].end_us);
    CHECK_EQ_I64(record->ttft_us, attempts[1].ttft_us);
    CHECK_EQ_I64(record->ttft_us - (attempts[1].start_us - 1000), attempts[0].ttft_us);
    CHECK_EQ_I64(record->instance, 3);
    CHECK_EQ_I64(record->itl_count, 9);
    blis_percentiles earlier;
    CHECK(blis_attempts_earlier(blis_recorder_attempts(t.site.recorder), &earlier) == BLIS_OK);
    CHECK_EQ_I64(earlier.count, 1);
    CHECK_EQ_DOUBLE(earlier.max_us, (double)(370 + alone_us));
    /* The answer that was dropped is work, and nobody got its tokens. */
    blis_error error;
    blis_summary summary;
    CHECK_OK(blis_summary_init(&summary, &t.site.alloc, t.site.cluster, t.site.recorder,
                               &t.site.itl_us, &error),
             &error);
    CHECK_EQ_I64(summary.output_tokens, 10);
    CHECK_EQ_I64(summary.prompt_tokens, 320);
    CHECK_EQ_I64(summary.times.itl.count, 9);
    CHECK_EQ_I64(summary.counts.completed, 1);
    blis_summary_deinit(&summary, &t.site.alloc);
    site_close(&t.site);
    site_deinit(&t.site);
  }
}

/* An attempt that fails has no tokens; the last one's end is the request's. */
static void test_attempts_that_fail(void) {
  for (int engine = 0; engine < 2; engine++) {
    for (uint32_t broken = 0; broken < 2; broken++) {
      three t;
      three_init(&t, blis_alloc_heap(), (blis_engine_kind)engine);
      t.site.instances[broken == 0 ? 2 : 3].kv_blocks = 5; /* of 16 tokens */
      three_add_chain(&t, NULL, "mid,large");
      three_add_threshold(&t, 1.0);
      three_add_request(&t, 20);
      three_must_open(&t);
      site_run(&t.site);
      CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
      site_check_states_sum_up(&t.site, 1);
      const blis_record *record = three_record(&t);
      CHECK_STR(three_story(&t, record),
                broken == 0 ? "mid:escalate large:accept_last" : "mid:escalate large:fail");
      CHECK_EQ_I64(record->state, broken == 0 ? BLIS_REQUEST_COMPLETED : BLIS_REQUEST_UNSERVABLE);
      site_close(&t.site);
      site_deinit(&t.site);
    }
  }
}

/* Nobody serves mid any more: rejected there, it goes on to large. */
static void test_attempt_without_candidates(void) {
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  three_add_chain(&t, NULL, "mid,large");
  three_add_request(&t, 20);
  three_must_open(&t);
  blis_error error;
  CHECK_OK(blis_cluster_instance_fail(t.site.cluster, 2, (blis_loss){0}, &error), &error);
  site_run(&t.site);
  CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
  CHECK_STR(three_story(&t, three_record(&t)), "mid:escalate large:accept");
  const blis_attempts *attempts = blis_recorder_attempts(t.site.recorder);
  CHECK_STR(blis_recorder_attempt_reason(t.site.recorder, &attempts->records.items[0]),
            "no-instance");
  blis_cluster_counts counts;
  blis_cluster_get_counts(t.site.cluster, &counts);
  CHECK_EQ_I64(counts.rejected, 0);
  CHECK_EQ_I64(counts.escalated, 1);
  site_close(&t.site);
  site_deinit(&t.site);
}

static void test_time_out_ends_the_request(void) {
  for (int engine = 0; engine < 2; engine++) {
    three t;
    three_init(&t, blis_alloc_heap(), (blis_engine_kind)engine);
    three_add_chain(&t, NULL, "small,large");
    three_add_request(&t, 500)->deadline_us = 100000;
    three_check_story(&t, "small:fail");
    site_deinit(&t.site);
  }
}

/* The permit of a model comes back before the next model is asked. */
static void test_every_attempt_needs_a_permit(void) {
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  three_add_chain(&t, NULL, "small,large");
  three_add_threshold(&t, 1.0);
  site_add_requests(&t.site, 3);
  for (size_t i = 0; i < 3; i++) {
    blis_request *r = &t.site.source.requests[i];
    r->arrival_us = (int64_t)i;
    r->prompt_tokens = 100;
    r->output_tokens = 20;
  }
  three_must_open(&t);
  const blis_param most = {.name = "max_queue", .number = 2};
  blis_policy_context context = site_context(&t.site);
  blis_admission admission;
  blis_error error;
  CHECK_OK(blis_admission_create(&t.site.alloc, "cognitora.admission", &(blis_params){&most, 1},
                                 &context, &admission, &error),
           &error);
  site_set_admission(&t.site, &admission);
  site_run(&t.site);
  CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
  const blis_record *records = site_records(&t.site);
  /* The third is refused by small at once, and is the first with large. */
  for (size_t i = 0; i < 3; i++) {
    bool is_refused = records[i].state == BLIS_REQUEST_REJECTED;
    CHECK_STR(three_story(&t, &records[i]),
              is_refused ? "small:escalate large:fail" : "small:escalate large:accept_last");
  }
  CHECK_EQ_I64(records[2].state, BLIS_REQUEST_COMPLETED);
  CHECK_EQ_I64(records[2].arrival_us, 2);
  site_check_states_sum_up(&t.site, 3);
  site_close(&t.site);
  site_deinit(&t.site);
}

/* Other answers have other lengths; the client's limit still holds. */
static blis_status answer_at_length(void *state, const blis_routing_request *request,
                                    int64_t output_tokens, int64_t now_us,
                                    blis_cascade_answer *answer, blis_error *error) {
  (void)output_tokens, (void)now_us, (void)error;
  const char *model = blis_intern_text(request->strings, request->model);
  const int64_t *lengths = state;
  answer->output_tokens = strcmp(model, "small") == 0 ? lengths[0] : lengths[1];
  answer->mean_logprob = -1;
  return BLIS_OK;
}

static blis_status skip_to(void *state, const blis_routing_request *request,
                           const blis_cascade_attempt *attempt, int64_t now_us, bool *escalates,
                           uint32_t *next, blis_error *error) {
  (void)request, (void)now_us, (void)error;
  const int64_t *lengths = state;
  *escalates = attempt->stage == 0;
  *next = (uint32_t)lengths[2];
  return BLIS_OK;
}

static const blis_cascade_ops length_ops = {.answer = answer_at_length, .escalates = skip_to};

static void test_policy_decides_lengths_and_stages(void) {
  static const char *const models[] = {"small", "mid", "large"};
  static const blis_cascade_chain chain = {.models = models, .count = 3};
  static int64_t plan[] = {4, 90, 2};
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  t.cascade = (blis_cascade){
      .ops = &length_ops, .state = plan, .name = "by length", .chains = &chain, .chain_count = 1};
  three_add_request(&t, 20)->max_output_tokens = 30;
  three_must_open(&t);
  site_run(&t.site);
  CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
  CHECK_STR(three_story(&t, three_record(&t)), "small:escalate large:accept");
  const blis_attempts *attempts = blis_recorder_attempts(t.site.recorder);
  CHECK_EQ_I64(attempts->records.items[0].output_tokens, 4);
  CHECK_EQ_I64(attempts->records.items[1].output_tokens, 30);
  CHECK_EQ_I64(attempts->records.items[1].stage, 2);
  CHECK_EQ_I64(attempts->records.items[1].step, 2);
  CHECK_EQ_I64(three_record(&t)->output_tokens, 30);
  site_close(&t.site);
  t.cascade.ops = &length_ops;
  plan[2] = 0; /* back to where it was */
  three_must_open(&t);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(t.site.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_POLICY);
  CHECK_CONTAINS(error.message, "cascade by length: after the model in place 1 "
                                "of the chain it asks the model in place 1");
  site_close(&t.site);
  site_deinit(&t.site);
}

static blis_status run_probed(blis_alloc alloc) {
  three t;
  three_init(&t, alloc, BLIS_ENGINE_FAST);
  three_add_chain(&t, NULL, "small,mid,large");
  three_add_chain(&t, "auto", "small");
  three_add_threshold(&t, 1.0);
  three_add_logprob(&t, "mid", -3);
  three_add_request(&t, 5)->cascade = three_text_number(&t, "mid,large");
  blis_error error = {0};
  blis_status status = three_open(&t, &error);
  if (status == BLIS_OK) {
    status = blis_cluster_run_until(t.site.cluster, BLIS_TIME_NEVER_US, &error);
  }
  if (status == BLIS_OK) {
    status = blis_cluster_finish(t.site.cluster, &error);
  }
  site_close(&t.site);
  site_deinit(&t.site);
  return status;
}

static void test_memory_runs_out(void) {
  blis_status status = BLIS_ERR_NOMEM;
  for (long at = 1; status != BLIS_OK; at++) {
    blis_alloc_probe memory = {.fail_at = at, .fail_forever = at % 2 == 0};
    status = run_probed(blis_alloc_probed(&memory));
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(test_example_of_the_document);
  RUN(test_length_in_place_of_logprobs);
  RUN(test_times_are_those_of_the_last_attempt);
  RUN(test_attempts_that_fail);
  RUN(test_attempt_without_candidates);
  RUN(test_time_out_ends_the_request);
  RUN(test_every_attempt_needs_a_permit);
  RUN(test_policy_decides_lengths_and_stages);
  RUN(test_memory_runs_out);
  return check_done();
}
