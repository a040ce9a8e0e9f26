/* Which chain a request goes through, and chains that make no sense. */
#include "cascade_fixture.h"

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
    three_add_chain(&t, NULL, "small,mid,large");
    three_add_chain(&t, "Auto", "small,large");
    three_add_chain(&t, "alone", "");
    three_add_threshold(&t, 0.5);
    blis_request *r = three_add_request(&t, 20);
    r->model = three_text_number(&t, cases[i].model);
    r->cascade = three_text_number(&t, cases[i].own);
    three_must_open(&t);
    site_run(&t.site);
    CHECK(blis_recorder_sort(t.site.recorder) == BLIS_OK);
    CHECK_STR(three_story(&t, three_record(&t)), cases[i].story);
    CHECK_EQ_I64(three_record(&t)->model, r->model);
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
    three_add_chain(&t, NULL, "small,mid,large");
    three_add_threshold(&t, -1.0);
    three_add_logprob(&t, "small", -1.01);
    three_add_request(&t, 20)->mean_logprob = three_text_number(&t, cases[i].text);
    three_check_story(&t, cases[i].story);
    site_deinit(&t.site);
  }
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
      {NULL, "small,lage", "chain: no instance serves the model 'lage'; did you mean 'large'?"},
      {"auto", "small,qwertz",
       "chain of auto: no instance serves the model "
       "'qwertz'; known are small, mid, large"},
      {NULL, "small,mid,SMALL", "duplicate model 'SMALL'"},
      {NULL, "", "chain: it is empty"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    three_add_chain(&t, cases[i].of, cases[i].chain);
    check_refused(&t, cases[i].text);
  }
  three t;
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  three_add_chain(&t, "auto", "small");
  three_add_chain(&t, "AUTO", "large");
  check_refused(&t, "the model 'AUTO' has two chains");
  three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
  three_add_param(&t, (blis_param){.name = "logprob_std_dev", .key = "mid", .number = 1});
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
      {"mid", "x,a/x", NULL, "duplicate model 'a/x'"},
      {"mid", "mid,b/x", NULL, "no instance serves the model 'b/x'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    own_init(&t, cases[i].mid);
    three_add_chain(&t, NULL, cases[i].chain);
    three_add_threshold(&t, 1);
    three_add_request(&t, 5);
    if (cases[i].error != NULL) {
      check_refused(&t, cases[i].error);
    } else {
      three_check_story(&t, cases[i].story);
      site_deinit(&t.site);
    }
  }
}

/* Each has its own, in whichever order they are given. */
static void test_chains_of_owners(void) {
  static const char *const names[] = {"x", "a/x", "b/x"};
  static const char *const chains[] = {"large,mid", "mid,large", "mid"};
  static const char *const stories[] = {"large:escalate mid:accept_last",
                                        "mid:escalate large:accept_last", "mid:accept_last"};
  for (size_t i = 0; i < 9; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    for (size_t k = 0; k < 3; k++) {
      size_t at = (i / 3 + k) % 3;
      three_add_chain(&t, names[at], chains[at]);
    }
    three_add_threshold(&t, 1);
    three_add_request(&t, 5)->model = three_text_number(&t, names[i % 3]);
    three_check_story(&t, stories[i % 3]);
    site_deinit(&t.site);
  }
  three t;
  own_init(&t, "mid");
  three_add_chain(&t, "x", "mid");
  three_add_chain(&t, "a/x", "large");
  check_refused(&t, "the model 'a/x' has two chains");
}

static void test_qualities_of_owners(void) {
  static const char *const mids[] = {"b/x", "x", "mid"};
  for (size_t i = 0; i < 3; i++) {
    three t;
    own_init(&t, mids[i]);
    three_add_chain(&t, NULL, i == 0 ? "b/x,large" : "x,large");
    three_add_threshold(&t, -1);
    bool has_two = i == 2; /* and x is neither of both */
    three_add_logprob(&t, "a/x", -2);
    three_add_logprob(&t, has_two ? "b/x" : mids[i], -0.5);
    three_add_request(&t, 5);
    if (!has_two) {
      three_check_story(&t, i == 0 ? "b/x:accept" : "x:accept");
      site_deinit(&t.site);
      continue;
    }
    three_must_open(&t);
    blis_error error = {0};
    CHECK_STATUS(site_try_run(&t.site, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, "mean_logprob: 'x' may be a/x or b/x; name its owner");
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
      {"small,tiny", "", "request_0: its cascade: no instance serves the model 'tiny'"},
      {"small,,mid", "", "request_0: its cascade is 'small,,mid'; expected"},
      {"mid,mid", "", "request_0: its cascade: duplicate model 'mid'"},
      {"", "small", "request_0: its mean_logprob is 'small', expected"},
      {"", "small=-1;mid=", "request_0: its mean_logprob is 'small=-1;mid='"},
      {"", "1e999", "request_0: its mean_logprob is '1e999', expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    three t;
    three_init(&t, blis_alloc_heap(), BLIS_ENGINE_FAST);
    three_add_chain(&t, NULL, "small,large");
    blis_request *r = three_add_request(&t, 5);
    r->cascade = three_text_number(&t, cases[i].chain);
    r->mean_logprob = three_text_number(&t, cases[i].logprob);
    three_must_open(&t);
    blis_error error;
    CHECK_STATUS(blis_cluster_run_until(t.site.cluster, BLIS_TIME_NEVER_US, &error),
                 BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].text);
    site_close(&t.site);
    site_deinit(&t.site);
  }
}

int main(void) {
  RUN(test_chain_of_a_request);
  RUN(test_logprobs_of_a_request);
  RUN(test_chains_that_make_no_sense);
  RUN(test_owners);
  RUN(test_chains_of_owners);
  RUN(test_qualities_of_owners);
  RUN(test_requests_that_make_no_sense);
  return check_done();
}
