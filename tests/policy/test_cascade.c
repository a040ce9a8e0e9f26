/*
 * Cascades over chains of models: the worked examples of Cognitora's document,
 * and what holds of every run whatever the cascade does.
 */
#include <math.h>

#include "cluster/cascade_run.h"
#include "cluster/state.h"
#include "cluster_fixture.h"

/* A site whose instances serve three models: 0 and 1 small, 2 mid, 3 large. */
typedef struct three {
  site site;
  blis_instance_facts facts[SITE_INSTANCES_MAX];
  blis_param params[16];
  size_t param_count;
  blis_cascade cascade; /* to be used in place of the one of the parameters */
} three;

enum { INSTANCES = 4 };

static void three_init(three *t, blis_alloc alloc, blis_engine_kind engine) {
  static const char *const models[INSTANCES] = {"small", "small", "mid",
                                                "large"};
  *t = (three){.param_count = 0};
  site_init(&t->site, alloc, INSTANCES);
  for (uint32_t i = 0; i < INSTANCES; i++) {
    t->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    t->facts[i].model = models[i];
    t->site.instances[i].engine = engine;
  }
  t->site.config.facts = t->facts;
}

static void add_param(three *t, blis_param param) {
  t->params[t->param_count++] = param;
}

static void add_chain(three *t, const char *of, const char *models) {
  static char texts[8][16];
  size_t used = 0;
  for (size_t at = 0; models[at] != '\0' || used == 0;) {
    size_t length = strcspn(models + at, ",");
    char *text = texts[t->param_count % 8];
    snprintf(text, 16, "%.*s", (int)length, models + at);
    add_param(t, (blis_param){.name = of == NULL ? "chain" : "chains",
                              .key = of,
                              .text = text});
    at += length + (models[at + length] == ',');
    used++;
  }
}

static void add_logprob(three *t, const char *model, double mean) {
  add_param(t,
            (blis_param){.name = "mean_logprob", .key = model, .number = mean});
}

static void add_threshold(three *t, double threshold) {
  add_param(t,
            (blis_param){.name = "confidence_threshold", .number = threshold});
}

static blis_status make_cascade(three *t, blis_cascade *cascade,
                                blis_error *error) {
  if (t->cascade.ops != NULL) {
    *cascade = t->cascade;
    return BLIS_OK;
  }
  blis_policy_context context = site_context(&t->site);
  const blis_params params = {t->params, t->param_count};
  return blis_cascade_create(&t->site.alloc, "cognitora.cascade", &params,
                             &context, cascade, error);
}

static blis_status three_open(three *t, blis_error *error) {
  blis_cascade cascade = {0};
  BLIS_TRY(site_open(&t->site, error));
  BLIS_TRY(make_cascade(t, &cascade, error));
  return blis_cluster_set_cascade(t->site.cluster, &cascade, error);
}

static void must_open(three *t) {
  blis_error error;
  CHECK_OK(three_open(t, &error), &error);
}

static uint32_t text_number(three *t, const char *text) {
  uint32_t number;
  CHECK(blis_intern_add(t->site.strings, text, strlen(text), &number) ==
        BLIS_OK);
  return number;
}

static blis_request *one_request(three *t, uint32_t output_tokens) {
  site_add_requests(&t->site, 1);
  blis_request *r = &t->site.source.requests[0];
  r->arrival_us = 1000;
  r->prompt_tokens = 160;
  r->output_tokens = output_tokens;
  r->max_output_tokens = output_tokens;
  return r;
}

static const blis_record *only_record(three *t) {
  CHECK_EQ_I64(blis_recorder_count(t->site.recorder), 1);
  return site_records(&t->site);
}

/* "small:escalate mid:accept" */
static const char *story_of(const three *t, const blis_record *record) {
  static char story[256];
  size_t count;
  const blis_attempt_record *attempts =
      blis_attempts_of(blis_recorder_attempts(t->site.recorder),
                       record->arrival_us, record->number, &count);
  story[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    size_t used = strlen(story);
    snprintf(
        story + used, sizeof story - used, "%s%s:%s", i == 0 ? "" : " ",
        blis_intern_text(t->site.strings, attempts[i].model),
        blis_cascade_verdict_name((blis_cascade_verdict)attempts[i].verdict));
  }
  return story;
}

static void check_story(three *t, const char *expected) {
  must_open(t);
  site_run(&t->site);
  CHECK(blis_recorder_sort(t->site.recorder) == BLIS_OK);
  site_check_states_sum_up(&t->site, 1);
  site_check_counters_are_zero(&t->site);
  CHECK_STR(story_of(t, only_record(t)), expected);
  CHECK_EQ_I64(blis_pool_count(&t->site.cluster->cascades->runs), 0);
  site_close(&t->site);
}

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
    add_chain(&t, NULL, "small,mid,large");
    add_threshold(&t, -1.0);
    add_logprob(&t, "small", cases[i].small);
    add_logprob(&t, "mid", cases[i].mid);
    add_logprob(&t, "large", cases[i].large);
    one_request(&t, 10);
    check_story(&t, cases[i].story);
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
      add_chain(&t, NULL, "small,large");
      if (!low) {
        add_threshold(&t, -1.0);
      }
      one_request(&t, tokens);
      bool is_short = tokens <= (low ? 1 : 2);
      check_story(&t, is_short ? "small:escalate large:accept_last"
                               : "small:accept");
      site_deinit(&t.site);
    }
  }
}

/* What one model alone takes for the request, from start to end. */
static int64_t duration_with(const char *model) {
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_STEPWISE);
  add_chain(&t, NULL, model);
  one_request(&t, 10);
  must_open(&t);
  site_run(&t.site);
  const blis_record *record = only_record(&t);
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
    add_chain(&t, NULL, "small,large");
    add_logprob(&t, "small", -3);
    add_logprob(&t, "large", -0.1);
    one_request(&t, 10);
    must_open(&t);
    site_run(&t.site);
    CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
    const blis_record *record = only_record(&t);
    size_t count;
    const blis_attempt_record *attempts = blis_attempts_of(
        blis_recorder_attempts(t.site.recorder), 1000, 0, &count);
    CHECK_EQ_I64(count, 2);
    CHECK_EQ_I64(attempts[0].start_us, 1000);
    CHECK_EQ_I64(attempts[0].end_us, 1000 + 370 + alone_us);
    CHECK_EQ_I64(attempts[1].start_us, attempts[0].end_us);
    CHECK_EQ_I64(attempts[1].end_us, 1000 + 2 * (370 + alone_us));
    CHECK_EQ_I64(record->end_us, attempts[1].end_us);
    CHECK_EQ_I64(record->ttft_us, attempts[1].ttft_us);
    CHECK_EQ_I64(record->ttft_us - (attempts[1].start_us - 1000),
                 attempts[0].ttft_us);
    CHECK_EQ_I64(record->instance, 3);
    CHECK_EQ_I64(record->itl_count, 9);
    blis_percentiles earlier;
    CHECK(blis_attempts_earlier(blis_recorder_attempts(t.site.recorder),
                                &earlier) == BLIS_OK);
    CHECK_EQ_I64(earlier.count, 1);
    CHECK_EQ_DOUBLE(earlier.max_us, (double)(370 + alone_us));
    /* The answer that was dropped is work, and nobody got its tokens. */
    blis_error error;
    blis_summary summary;
    CHECK_OK(blis_summary_init(&summary, &t.site.alloc, t.site.cluster,
                               t.site.recorder, &t.site.itl_us, &error),
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

/* Which requests take part. */
static void test_chain_of_a_request(void) {
  static const struct {
    const char *model;
    const char *own; /* chain of the request */
    const char *story;
  } cases[] = {
      {"", "", "small:escalate mid:escalate large:accept_last"},
      {"LARGE", "", "small:escalate mid:escalate large:accept_last"},
      {"auto", "", "small:escalate large:accept_last"},
      {"alone", "", ""},
      {"auto", "mid,small", "mid:escalate small:accept_last"},
      {"", "large", "large:accept_last"},
      {"large", "-", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    add_chain(&t, NULL, "small,mid,large");
    add_chain(&t, "Auto", "small,large");
    add_chain(&t, "alone", "");
    add_threshold(&t, 0.5);
    blis_request *r = one_request(&t, 20);
    r->model = text_number(&t, cases[i].model);
    r->cascade = text_number(&t, cases[i].own);
    must_open(&t);
    site_run(&t.site);
    CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
    CHECK_STR(story_of(&t, only_record(&t)), cases[i].story);
    CHECK_EQ_I64(only_record(&t)->model, r->model);
    site_close(&t.site);
    site_deinit(&t.site);
  }
}

static void test_logprobs_of_a_request(void) {
  static const struct {
    const char *text;
    const char *story;
  } cases[] = {
      {"-0.9", "small:accept"},
      {"-1.25", "small:escalate mid:escalate large:accept_last"},
      {"small=-2;mid=-1", "small:escalate mid:accept"},
      {"mid=-1", "small:escalate mid:accept"}, /* small by the policy */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    add_chain(&t, NULL, "small,mid,large");
    add_threshold(&t, -1.0);
    add_logprob(&t, "small", -1.01);
    one_request(&t, 20)->mean_logprob = text_number(&t, cases[i].text);
    check_story(&t, cases[i].story);
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
      add_chain(&t, NULL, "mid,large");
      add_threshold(&t, 1.0);
      one_request(&t, 20);
      must_open(&t);
      site_run(&t.site);
      CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
      site_check_states_sum_up(&t.site, 1);
      const blis_record *record = only_record(&t);
      CHECK_STR(story_of(&t, record), broken == 0
                                          ? "mid:escalate large:accept_last"
                                          : "mid:escalate large:fail");
      CHECK_EQ_I64(record->state, broken == 0 ? BLIS_REQUEST_COMPLETED
                                              : BLIS_REQUEST_UNSERVABLE);
      site_close(&t.site);
      site_deinit(&t.site);
    }
  }
}

/* Nobody serves mid any more: rejected there, it goes on to large. */
static void test_attempt_without_candidates(void) {
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  add_chain(&t, NULL, "mid,large");
  one_request(&t, 20);
  must_open(&t);
  blis_error error;
  CHECK_OK(
      blis_cluster_instance_fail(t.site.cluster, 2, (blis_loss){0}, &error),
      &error);
  site_run(&t.site);
  CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
  CHECK_STR(story_of(&t, only_record(&t)), "mid:escalate large:accept");
  const blis_attempts *attempts = blis_recorder_attempts(t.site.recorder);
  CHECK_STR(blis_recorder_attempt_reason(t.site.recorder,
                                         &attempts->records.items[0]),
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
    add_chain(&t, NULL, "small,large");
    one_request(&t, 500)->deadline_us = 100000;
    check_story(&t, "small:fail");
    site_deinit(&t.site);
  }
}

/* The permit of a model comes back before the next model is asked. */
static void test_every_attempt_needs_a_permit(void) {
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  add_chain(&t, NULL, "small,large");
  add_threshold(&t, 1.0);
  site_add_requests(&t.site, 3);
  for (size_t i = 0; i < 3; i++) {
    blis_request *r = &t.site.source.requests[i];
    r->arrival_us = (int64_t)i;
    r->prompt_tokens = 100;
    r->output_tokens = 20;
  }
  must_open(&t);
  const blis_param most = {.name = "max_queue", .number = 2};
  blis_policy_context context = site_context(&t.site);
  blis_admission admission;
  blis_error error;
  CHECK_OK(blis_admission_create(&t.site.alloc, "cognitora.admission",
                                 &(blis_params){&most, 1}, &context, &admission,
                                 &error),
           &error);
  site_set_admission(&t.site, &admission);
  site_run(&t.site);
  CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
  const blis_record *records = site_records(&t.site);
  /* The third is refused by small at once, and is the first with large. */
  for (size_t i = 0; i < 3; i++) {
    bool is_refused = records[i].state == BLIS_REQUEST_REJECTED;
    CHECK_STR(story_of(&t, &records[i]),
              is_refused ? "small:escalate large:fail"
                         : "small:escalate large:accept_last");
  }
  CHECK_EQ_I64(records[2].state, BLIS_REQUEST_COMPLETED);
  CHECK_EQ_I64(records[2].arrival_us, 2);
  site_check_states_sum_up(&t.site, 3);
  site_close(&t.site);
  site_deinit(&t.site);
}

static void check_refused(three *t, const char *text) {
  blis_error error;
  CHECK_STATUS(three_open(t, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, text);
  site_close(&t->site);
  site_deinit(&t->site);
}

static void test_chains_that_make_no_sense(void) {
  static const struct {
    const char *of;
    const char *chain;
    const char *text;
  } cases[] = {
      {NULL, "small,lage",
       "chain: no instance serves the model 'lage'; did you mean 'large'?"},
      {"auto", "small,qwertz",
       "chain of auto: no instance serves the model "
       "'qwertz'; known are small, mid, large"},
      {NULL, "small,mid,SMALL", "the model 'SMALL' is given twice"},
      {NULL, "", "chain: it is empty"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    add_chain(&t, cases[i].of, cases[i].chain);
    check_refused(&t, cases[i].text);
  }
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  add_chain(&t, "auto", "small");
  add_chain(&t, "AUTO", "large");
  check_refused(&t, "there are two chains for the model 'AUTO'");
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  add_param(&t,
            (blis_param){.name = "logprob_std_dev", .key = "mid", .number = 1});
  check_refused(&t, "logprob_std_dev of mid needs its mean_logprob");
}

/* Models of these owners in place of small, mid and large. */
static void own_init(three *t, const char *mid) {
  three_init(t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  t->facts[0].model = "a/x";
  t->facts[1].model = "a/x";
  t->facts[2].model = mid;
}

static void test_owners(void) {
  static const struct {
    const char *mid;
    const char *chain;
    const char *story; /* or what is wrong */
    const char *error;
  } cases[] = {
      {"b/x", "a/x,b/x", "a/x:escalate b/x:accept_last", NULL},
      {"x", "x,a/x", "x:escalate a/x:accept_last", NULL},
      {"mid", "x,mid", "x:escalate mid:accept_last", NULL},
      {"b/x", "large,x", NULL, "chain: 'x' may be a/x or b/x; name its owner"},
      {"mid", "x,a/x", NULL, "the model 'a/x' is given twice"},
      {"mid", "mid,b/x", NULL, "no instance serves the model 'b/x'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    own_init(&t, cases[i].mid);
    add_chain(&t, NULL, cases[i].chain);
    add_threshold(&t, 1);
    one_request(&t, 5);
    if (cases[i].error != NULL) {
      check_refused(&t, cases[i].error);
    } else {
      check_story(&t, cases[i].story);
      site_deinit(&t.site);
    }
  }
}

/* Each has its own, in whichever order they are given. */
static void test_chains_of_owners(void) {
  static const char *const names[] = {"x", "a/x", "b/x"};
  static const char *const chains[] = {"large,mid", "mid,large", "mid"};
  static const char *const stories[] = {"large:escalate mid:accept_last",
                                        "mid:escalate large:accept_last",
                                        "mid:accept_last"};
  for (size_t i = 0; i < 9; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    for (size_t k = 0; k < 3; k++) {
      size_t at = (i / 3 + k) % 3;
      add_chain(&t, names[at], chains[at]);
    }
    add_threshold(&t, 1);
    one_request(&t, 5)->model = text_number(&t, names[i % 3]);
    check_story(&t, stories[i % 3]);
    site_deinit(&t.site);
  }
  three t;
  own_init(&t, "mid");
  add_chain(&t, "x", "mid");
  add_chain(&t, "a/x", "large");
  check_refused(&t, "there are two chains for the model 'a/x'");
}

static void test_qualities_of_owners(void) {
  static const char *const mids[] = {"b/x", "x", "mid"};
  for (size_t i = 0; i < 3; i++) {
    three t;
    own_init(&t, mids[i]);
    add_chain(&t, NULL, i == 0 ? "b/x,large" : "x,large");
    add_threshold(&t, -1);
    bool has_two = i == 2; /* and x is neither of both */
    add_logprob(&t, "a/x", -2);
    add_logprob(&t, has_two ? "b/x" : mids[i], -0.5);
    one_request(&t, 5);
    if (!has_two) {
      check_story(&t, i == 0 ? "b/x:accept" : "x:accept");
      site_deinit(&t.site);
      continue;
    }
    must_open(&t);
    blis_error error = {0};
    CHECK_STATUS(site_try_run(&t.site, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message,
                   "mean_logprob: 'x' may be a/x or b/x; name its owner");
    site_close(&t.site);
    site_deinit(&t.site);
  }
}

static void test_requests_that_make_no_sense(void) {
  static const struct {
    const char *chain;
    const char *logprob;
    const char *text;
  } cases[] = {
      {"small,tiny", "",
       "request_0: its cascade: no instance serves the model 'tiny'"},
      {"small,,mid", "", "request_0: its cascade is 'small,,mid'; expected"},
      {"mid,mid", "", "request_0: its cascade: the model 'mid' is given twice"},
      {"", "small", "request_0: its mean_logprob is 'small', expected"},
      {"", "small=-1;mid=", "request_0: its mean_logprob is 'small=-1;mid='"},
      {"", "1e999", "request_0: its mean_logprob is '1e999', expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    add_chain(&t, NULL, "small,large");
    blis_request *r = one_request(&t, 5);
    r->cascade = text_number(&t, cases[i].chain);
    r->mean_logprob = text_number(&t, cases[i].logprob);
    must_open(&t);
    blis_error error;
    CHECK_STATUS(
        blis_cluster_run_until(t.site.cluster, BLIS_TIME_NEVER_US, &error),
        BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].text);
    site_close(&t.site);
    site_deinit(&t.site);
  }
}

/* Other answers have other lengths; the client's limit still holds. */
static blis_status answer_at_length(void *state,
                                    const blis_routing_request *request,
                                    int64_t output_tokens, int64_t now_us,
                                    blis_cascade_answer *answer,
                                    blis_error *error) {
  (void)output_tokens, (void)now_us, (void)error;
  const char *model = blis_intern_text(request->strings, request->model);
  const int64_t *lengths = state;
  answer->output_tokens = strcmp(model, "small") == 0 ? lengths[0] : lengths[1];
  answer->mean_logprob = -1;
  return BLIS_OK;
}

static blis_status skip_to(void *state, const blis_routing_request *request,
                           const blis_cascade_attempt *attempt, int64_t now_us,
                           bool *escalates, uint32_t *next, blis_error *error) {
  (void)request, (void)now_us, (void)error;
  const int64_t *lengths = state;
  *escalates = attempt->stage == 0;
  *next = (uint32_t)lengths[2];
  return BLIS_OK;
}

static const blis_cascade_ops length_ops = {.answer = answer_at_length,
                                            .escalates = skip_to};

static void test_policy_decides_lengths_and_stages(void) {
  static const char *const models[] = {"small", "mid", "large"};
  static const blis_cascade_chain chain = {.models = models, .count = 3};
  static int64_t plan[] = {4, 90, 2};
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  t.cascade = (blis_cascade){.ops = &length_ops,
                             .state = plan,
                             .name = "by length",
                             .chains = &chain,
                             .chain_count = 1};
  one_request(&t, 20)->max_output_tokens = 30;
  must_open(&t);
  site_run(&t.site);
  CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
  CHECK_STR(story_of(&t, only_record(&t)), "small:escalate large:accept");
  const blis_attempts *attempts = blis_recorder_attempts(t.site.recorder);
  CHECK_EQ_I64(attempts->records.items[0].output_tokens, 4);
  CHECK_EQ_I64(attempts->records.items[1].output_tokens, 30);
  CHECK_EQ_I64(attempts->records.items[1].stage, 2);
  CHECK_EQ_I64(attempts->records.items[1].step, 2);
  CHECK_EQ_I64(only_record(&t)->output_tokens, 30);
  site_close(&t.site);
  t.cascade.ops = &length_ops;
  plan[2] = 0; /* back to where it was */
  must_open(&t);
  blis_error error;
  CHECK_STATUS(
      blis_cluster_run_until(t.site.cluster, BLIS_TIME_NEVER_US, &error),
      BLIS_ERR_POLICY);
  CHECK_CONTAINS(error.message, "cascade by length: after the model in place 1 "
                                "of the chain it asks the model in place 1");
  site_close(&t.site);
  site_deinit(&t.site);
}

/* Properties on random traffic. */

static void random_three(three *t, blis_engine_kind engine, int64_t seed) {
  static const char *const routers[] = {"round-robin", "weighted",
                                        "cognitora.score", "lmetric"};
  three_init(t, blis_alloc_heap(), engine);
  t->site.policy = routers[seed % 4];
  t->site.seed = seed;
  add_chain(t, NULL, "small,mid,large");
  add_threshold(t, -1.0);
  static const char *const models[] = {"small", "mid", "large"};
  for (size_t i = 0; i < 3; i++) {
    add_logprob(t, models[i], -1.3 + 0.3 * (double)i);
    add_param(t, (blis_param){.name = "logprob_std_dev",
                              .key = models[i],
                              .number = 0.5});
  }
  site_add_random_requests(&t->site, 300, 40, seed);
  for (size_t i = 0; i < t->site.source.count; i++) {
    blis_request *r = &t->site.source.requests[i];
    if (i % 7 == 0) {
      r->deadline_us = r->arrival_us + 2000000;
    }
    if (i % 11 == 0) {
      r->model = text_number(t, i % 2 == 0 ? "mid" : "small");
      r->cascade = text_number(t, "-");
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
      CHECK_EQ_I64(own[k].start_us,
                   k == 0 ? record->arrival_us : own[k - 1].end_us);
      CHECK(!is_last || (own[k].state == record->state &&
                         own[k].instance == record->instance &&
                         own[k].end_us == record->end_us));
    }
  }
  CHECK_EQ_I64(seen, attempts->records.count);
  CHECK_EQ_I64(attempts->all.attempts, seen);
  CHECK_EQ_I64(attempts->all.verdicts[BLIS_CASCADE_ESCALATE], counts.escalated);
  blis_summary summary;
  blis_error error;
  CHECK_OK(blis_summary_init(&summary, &t->site.alloc, t->site.cluster,
                             recorder, (blis_histogram *)&t->site.itl_us,
                             &error),
           &error);
  /* Only answers that somebody got are counted. */
  CHECK_EQ_I64(summary.times.itl.count, itl_count);
  CHECK_EQ_I64(summary.output_tokens, output_tokens);
  for (uint32_t i = 0; i < INSTANCES; i++) {
    routed -= summary.instances[i].requests;
  }
  CHECK_EQ_I64(routed, 0);
  blis_summary_deinit(&summary, &t->site.alloc);
}

static uint64_t run_random(blis_engine_kind engine, int64_t seed,
                           bool by_steps) {
  three t;
  random_three(&t, engine, seed);
  must_open(&t);
  blis_error error;
  CHECK_OK(blis_cluster_run_until(t.site.cluster, 1000000, &error), &error);
  CHECK_OK(blis_cluster_instance_fail(
               t.site.cluster, 0,
               (blis_loss){.kind = seed % 2 == 0 ? BLIS_LOSS_REROUTED
                                                 : BLIS_LOSS_USUAL},
               &error),
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
    must_open(&t);
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
    must_open(&t);
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

static blis_status run_probed(blis_alloc alloc) {
  three t;
  three_init(&t, alloc, BLIS_ENGINE_FAST);
  add_chain(&t, NULL, "small,mid,large");
  add_chain(&t, "auto", "small");
  add_threshold(&t, 1.0);
  add_logprob(&t, "mid", -3);
  one_request(&t, 5)->cascade = text_number(&t, "mid,large");
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
  RUN(test_chain_of_a_request);
  RUN(test_logprobs_of_a_request);
  RUN(test_attempts_that_fail);
  RUN(test_attempt_without_candidates);
  RUN(test_time_out_ends_the_request);
  RUN(test_every_attempt_needs_a_permit);
  RUN(test_chains_that_make_no_sense);
  RUN(test_owners);
  RUN(test_chains_of_owners);
  RUN(test_qualities_of_owners);
  RUN(test_requests_that_make_no_sense);
  RUN(test_policy_decides_lengths_and_stages);
  RUN(test_random_traffic);
  RUN(test_threshold_is_monotone);
  RUN(test_horizon);
  RUN(test_memory_runs_out);
  return check_done();
}
