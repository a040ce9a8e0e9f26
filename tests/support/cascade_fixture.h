/*
 * A cluster of small, mid and large models, and what is said of the chains that
 * its requests go through.
 */
#ifndef BLIS_TESTS_CASCADE_FIXTURE_H
#define BLIS_TESTS_CASCADE_FIXTURE_H

#include "cluster/cascade/cascade.h"
#include "cluster/cascade/cascades.h"
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

enum { THREE_INSTANCES = 4 };

static inline void three_init(three *t, blis_alloc alloc, blis_engine_kind engine) {
  static const char *const models[THREE_INSTANCES] = {"small", "small", "mid", "large"};
  *t = (three){.param_count = 0};
  site_init(&t->site, alloc, THREE_INSTANCES);
  for (uint32_t i = 0; i < THREE_INSTANCES; i++) {
    t->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    t->facts[i].model = models[i];
    t->site.instances[i].engine = engine;
  }
  t->site.config.facts = t->facts;
}

static inline void three_add_param(three *t, blis_param param) {
  t->params[t->param_count++] = param;
}

/* Models by comma; the chain of everybody if `of` is NULL. */
static inline void three_add_chain(three *t, const char *of, const char *models) {
  static char texts[8][16];
  size_t used = 0;
  for (size_t at = 0; models[at] != '\0' || used == 0;) {
    size_t length = strcspn(models + at, ",");
    char *text = texts[t->param_count % 8];
    snprintf(text, 16, "%.*s", (int)length, models + at);
    three_add_param(t,
                    (blis_param){.name = of == NULL ? "chain" : "chains", .key = of, .text = text});
    at += length + (models[at + length] == ',');
    used++;
  }
}

static inline void three_add_logprob(three *t, const char *model, double mean) {
  three_add_param(t, (blis_param){.name = "mean_logprob", .key = model, .number = mean});
}

static inline void three_add_threshold(three *t, double threshold) {
  three_add_param(t, (blis_param){.name = "confidence_threshold", .number = threshold});
}

static inline blis_status three_make_cascade(three *t, blis_cascade *cascade, blis_error *error) {
  if (t->cascade.ops != NULL) {
    *cascade = t->cascade;
    return BLIS_OK;
  }
  blis_policy_context context = site_context(&t->site);
  const blis_params params = {t->params, t->param_count};
  return blis_cascade_create(&t->site.alloc, "cognitora.cascade", &params, &context, cascade,
                             error);
}

static inline blis_status three_open(three *t, blis_error *error) {
  blis_cascade cascade = {0};
  BLIS_TRY(site_open(&t->site, error));
  BLIS_TRY(three_make_cascade(t, &cascade, error));
  return blis_cluster_set_cascade(t->site.cluster, &cascade, error);
}

static inline void three_must_open(three *t) {
  blis_error error;
  CHECK_OK(three_open(t, &error), &error);
}

static inline uint32_t three_text_number(three *t, const char *text) {
  uint32_t number;
  CHECK(blis_intern_add(t->site.strings, text, strlen(text), &number) == BLIS_OK);
  return number;
}

/* The only request; more may be changed in it. */
static inline blis_request *three_add_request(three *t, uint32_t output_tokens) {
  site_add_requests(&t->site, 1);
  blis_request *r = &t->site.source.requests[0];
  r->arrival_us = 1000;
  r->prompt_tokens = 160;
  r->output_tokens = output_tokens;
  r->max_output_tokens = output_tokens;
  return r;
}

static inline const blis_record *three_record(three *t) {
  CHECK_EQ_I64(blis_recorder_count(t->site.recorder), 1);
  return site_records(&t->site);
}

/* "small:escalate mid:accept" */
static inline const char *three_story(const three *t, const blis_record *record) {
  static char story[256];
  size_t count;
  const blis_attempt_record *attempts = blis_attempts_of(
      blis_recorder_attempts(t->site.recorder), record->arrival_us, record->number, &count);
  story[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    size_t used = strlen(story);
    snprintf(story + used, sizeof story - used, "%s%s:%s", i == 0 ? "" : " ",
             blis_intern_text(t->site.strings, attempts[i].model),
             blis_cascade_verdict_name((blis_cascade_verdict)attempts[i].verdict));
  }
  return story;
}

/* Runs the only request to its end, and closes the site. */
static inline void three_check_story(three *t, const char *expected) {
  three_must_open(t);
  site_run(&t->site);
  CHECK(blis_recorder_sort(t->site.recorder) == BLIS_OK);
  site_check_states_sum_up(&t->site, 1);
  site_check_counters_are_zero(&t->site);
  CHECK_STR(three_story(t, three_record(t)), expected);
  const blis__cascades *cascades = blis__feature_state(t->site.cluster, BLIS_FEATURE_CASCADE);
  CHECK_EQ_I64(blis_pool_count(&cascades->runs), 0);
  site_close(&t->site);
}

#endif
