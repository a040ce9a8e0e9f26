#include "cluster/cascade/cascades.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/time.h"
#include "cluster/cascade/cascade.h"
#include "cluster/clock.h"
#include "cluster/feature.h"
#include "instance/parts/arrival.h"

static const blis__chain no_chain;

static blis__cascades *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_CASCADE);
}

/* Returns the progress of a request; NULL if it is not in the cascade. */
static blis__cascade_run *run_of(const blis__cluster_request *request) {
  return request->parts[BLIS__PART_CASCADE];
}

/* Chains. */

static blis_status fail_unknown(const blis_cluster *cluster, const char *where, const char *model,
                                blis_error *error) {
  const blis__candidates *candidates = &cluster->snapshot.candidates;
  blis_nearest nearest = {.wanted = model};
  for (size_t i = 0; i < candidates->names.count; i++) {
    blis_nearest_offer(&nearest, candidates->names.items[i]);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s: no instance serves the model '%s'%s", where, model,
                   blis_nearest_suggest(&nearest).text);
}

/* Returns whether the names are equal, or refer to the same model of the cluster. */
static bool is_same_here(const blis_cluster *cluster, const char *a, const char *b) {
  const blis__candidates *candidates = &cluster->snapshot.candidates;
  const blis__model_search of_a = blis__candidates_find(candidates, a);
  const blis__model_search of_b = blis__candidates_find(candidates, b);
  return blis__is_same_model(a, b) ||
         (blis__model_search_is_clear(&of_a) && blis__model_search_is_clear(&of_b) &&
          of_a.number == of_b.number);
}

/* Adds a model to a chain with capacity for it. */
static blis_status add_model(blis_cluster *cluster, const char *where, const char *model,
                             size_t length, uint32_t *models, uint32_t *count, blis_error *error) {
  blis_intern *strings = cluster->source->strings;
  uint32_t id;
  BLIS_TRY_MEM(blis_intern_add(strings, model, length, &id), error);
  const char *text = blis_intern_text(strings, id);
  const blis__candidates *candidates = &cluster->snapshot.candidates;
  const blis__model_search search = blis__candidates_find(candidates, text);
  if (search.other != NULL) {
    return blis__model_search_fail(&search, where, error);
  }
  if (!blis__candidates_serve(candidates, text)) {
    return fail_unknown(cluster, where, text, error);
  }
  for (uint32_t i = 0; i < *count; i++) {
    if (is_same_here(cluster, blis_intern_text(strings, models[i]), text)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: duplicate model '%s'; a chain with a repeated model would "
                       "never end",
                       where, text);
    }
  }
  models[(*count)++] = id;
  return BLIS_OK;
}

static blis_status read_chain(blis_cluster *cluster, const blis_cascade_chain *from,
                              blis__chain *to, blis_error *error) {
  blis__cascades *c = state_of(cluster);
  char where[256];
  snprintf(where, sizeof where, "cascade %.64s: %s%.128s", c->policy.name,
           from->model == NULL ? "chain" : "chain of ", from->model == NULL ? "" : from->model);
  if (from->model == NULL && from->count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: it is empty", where);
  }
  uint32_t *models = blis_arena_new(&c->arena, (from->count + 1) * sizeof *models);
  BLIS_TRY_NEW(models, error);
  *to = (blis__chain){.models = models};
  for (uint32_t i = 0; i < from->count; i++) {
    const char *model = from->models[i];
    BLIS_TRY(add_model(cluster, where, model, strlen(model), models, &to->count, error));
  }
  return BLIS_OK;
}

/* Rejects two chains for one model, because the choice would be ambiguous. */
static blis_status check_chains_differ(const blis_cluster *cluster, blis_error *error) {
  const blis_cascade *policy = &state_of(cluster)->policy;
  for (size_t i = 0; i < policy->chain_count; i++) {
    const char *model = policy->chains[i].model;
    for (size_t k = 0; k < i && model != NULL; k++) {
      const char *other = policy->chains[k].model;
      if (other != NULL && is_same_here(cluster, model, other)) {
        return blis_fail(error, BLIS_ERR_INVALID, "cascade %s: the model '%s' has two chains",
                         policy->name, model);
      }
    }
  }
  return BLIS_OK;
}

static bool has_model(const blis_cluster *cluster, const blis__chain *chain, const char *model) {
  const blis_intern *strings = cluster->source->strings;
  for (uint32_t i = 0; i < chain->count; i++) {
    if (is_same_here(cluster, blis_intern_text(strings, chain->models[i]), model)) {
      return true;
    }
  }
  return false;
}

/* Returns the chain for requests of a model; its specific chain overrides the common one. */
static const blis__chain *find_chain(const blis_cluster *cluster, uint32_t model) {
  const blis__cascades *c = state_of(cluster);
  const char *name = blis_intern_text(cluster->source->strings, model);
  const blis__chain *found = &no_chain;
  for (size_t i = 0; i < c->policy.chain_count; i++) {
    const char *of = c->policy.chains[i].model;
    if (of != NULL && is_same_here(cluster, of, name)) {
      return &c->chains[i];
    }
    if (of == NULL && (model == 0 || has_model(cluster, &c->chains[i], name))) {
      found = &c->chains[i];
    }
  }
  return found;
}

/* Parses "small,large" or "-". */
static blis_status parse_chain(blis_cluster *cluster, const blis__cluster_request *request,
                               const blis__chain **chain, blis_error *error) {
  const blis_intern *strings = cluster->source->strings;
  blis_arena *arena = &state_of(cluster)->arena;
  const char *text = blis_intern_text(strings, request->request.cascade);
  char id[BLIS_REQUEST_ID_SIZE];
  char where[BLIS_REQUEST_ID_SIZE + 32];
  snprintf(where, sizeof where, "%s: its cascade", blis_request_id(&request->request, strings, id));
  blis__chain *made = blis_arena_new(arena, sizeof *made);
  uint32_t *models = blis_arena_new(arena, (strlen(text) / 2 + 1) * sizeof *models);
  BLIS_TRY_NEW(made, error);
  BLIS_TRY_NEW(models, error);
  *made = (blis__chain){.models = models};
  *chain = made;
  if (strcmp(text, "-") == 0) {
    return BLIS_OK;
  }
  for (;;) {
    size_t length = strcspn(text, ",");
    if (length == 0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s is '%s'; expected models separated by commas, or - for none", where,
                       blis_intern_text(strings, request->request.cascade));
    }
    BLIS_TRY(add_model(cluster, where, text, length, models, &made->count, error));
    if (text[length] == '\0') {
      return BLIS_OK;
    }
    text += length + 1;
  }
}

/* Cached data of a string; NULL = not computed yet, or out of memory. */
#define SLOT_OF(array, id)                                                                         \
  (blis_array_reserve(&cluster->alloc, array, (size_t)(id) + 1) != BLIS_OK                         \
       ? NULL                                                                                      \
       : slot_of((array)->items, &(array)->count, (id)))

static const blis__chain **slot_of(const blis__chain **items, size_t *count, uint32_t id) {
  while (*count <= id) {
    items[(*count)++] = NULL;
  }
  return &items[id];
}

/* Stores the chain of models for a request; empty = it is not in the cascade. */
static blis_status chain_of(blis_cluster *cluster, const blis__cluster_request *request,
                            const blis__chain **chain, blis_error *error) {
  blis__cascades *c = state_of(cluster);
  uint32_t own = request->request.cascade;
  uint32_t model = request->request.model;
  const blis__chain **known = own != 0 ? SLOT_OF(&c->by_text, own) : SLOT_OF(&c->by_model, model);
  BLIS_TRY_NEW(known, error);
  if (*known == NULL && own == 0) {
    *known = find_chain(cluster, model);
  } else if (*known == NULL) {
    BLIS_TRY(parse_chain(cluster, request, known, error));
  }
  *chain = *known;
  return BLIS_OK;
}

/* Answers. */

/*
 * Reads "-1.5", or a list such as "small=-1.5;large=-0.3"; NAN = the list does not contain the
 * model.
 */
static blis_status own_logprob(const blis_cluster *cluster, const blis_request *request,
                               double *logprob, blis_error *error) {
  const blis_intern *strings = cluster->source->strings;
  const char *model = blis_intern_text(strings, request->model);
  const char *text = blis_intern_text(strings, request->mean_logprob);
  const char *whole = text;
  *logprob = NAN;
  while (*text != '\0') {
    size_t length = strcspn(text, ";");
    const char *equals = memchr(text, '=', length);
    size_t name = equals == NULL ? 0 : (size_t)(equals - text);
    size_t skipped = equals == NULL ? 0 : name + 1;
    double value;
    if (blis_parse_double((blis_slice){text + skipped, length - skipped}, &value) !=
        BLIS_NUMBER_OK) {
      char id[BLIS_REQUEST_ID_SIZE];
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: its mean_logprob is '%s', expected a number or "
                       "model=number;model=number",
                       blis_request_id(request, strings, id), whole);
    }
    bool is_of_model = equals == NULL || (strlen(model) == name && memcmp(model, text, name) == 0);
    *logprob = is_of_model ? value : *logprob;
    text += length + (text[length] == ';');
  }
  return BLIS_OK;
}

/* Determines the answer. A value in the request overrides the policy. */
static blis_status find_answer(blis_cluster *cluster, blis__cluster_request *request,
                               blis_error *error) {
  blis__cascade_run *run = run_of(request);
  const blis_cascade *policy = &state_of(cluster)->policy;
  run->answer = (blis_cascade_answer){.mean_logprob = NAN, .output_tokens = -1};
  BLIS_TRY(own_logprob(cluster, &request->request, &run->answer.mean_logprob, error));
  if (!isnan(run->answer.mean_logprob) || policy->ops->answer == NULL) {
    return BLIS_OK;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  return policy->ops->answer(policy->state, &shown, run->wanted_output_tokens, cluster->now_us,
                             &run->answer, error);
}

/* Sets the planned output. Later prompts of a session contain a response of the planned length, so
   output of a different length is not part of any prompt. */
static void plan_output(blis__cluster_request *request) {
  const blis__cascade_run *run = run_of(request);
  blis_request *r = &request->request;
  int64_t tokens = run->answer.output_tokens;
  r->output_tokens = run->wanted_output_tokens;
  if (tokens >= 0) {
    int64_t most = r->max_output_tokens > 0 ? r->max_output_tokens : UINT32_MAX;
    r->output_tokens = (uint32_t)blis_min_i64(tokens, most);
  }
  r->shares_output = run->shared_output && r->output_tokens == run->wanted_output_tokens;
  request->live.output_tokens = r->output_tokens;
}

/* Attempts. */

static blis_status begin_attempt(blis_cluster *cluster, blis__cluster_request *request,
                                 uint32_t stage, int64_t start_us, blis_error *error) {
  blis__cascade_run *run = run_of(request);
  BLIS_ASSERT(stage < run->chain->count);
  BLIS_ASSERT(run->steps == 0 || stage > run->stage);
  run->stage = stage;
  run->steps++;
  run->start_us = start_us;
  run->is_judged = false;
  request->request.model = run->chain->models[stage];
  BLIS_TRY(find_answer(cluster, request, error));
  plan_output(request);
  return BLIS_OK;
}

static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  blis__cascades *c = ud;
  blis__cluster_request *request = news->request;
  const blis__chain *chain = &no_chain;
  BLIS_TRY(chain_of(cluster, request, &chain, error));
  if (chain->count == 0) {
    return BLIS_OK;
  }
  uint32_t slot;
  BLIS_TRY_MEM(blis_pool_take(&c->runs, &slot), error);
  const blis_request *r = &request->request;
  blis__cascade_run *run = blis_pool_item(&c->runs, slot);
  request->parts[BLIS__PART_CASCADE] = run;
  *run = (blis__cascade_run){.chain = chain,
                             .slot = slot,
                             .wanted_model = r->model,
                             .wanted_output_tokens = r->output_tokens,
                             .shared_output = r->shares_output};
  return begin_attempt(cluster, request, 0, cluster->now_us, error);
}

static bool is_completed(const blis_live_request *live) {
  return live->state == BLIS_REQUEST_COMPLETED || live->state == BLIS_REQUEST_LENGTH_CAPPED;
}

/* Returns the number of emitted tokens. The prefill emits the first one. */
static int64_t sent_tokens(const blis_live_request *live) {
  if (!is_completed(live)) {
    return 0;
  }
  int64_t produced = live->progress_tokens - live->prompt_tokens;
  return produced + (produced < live->output_tokens);
}

static blis_cascade_attempt attempt_of(const blis_cluster *cluster,
                                       const blis__cluster_request *request, int64_t end_us,
                                       const char *reason) {
  const blis__cascade_run *run = run_of(request);
  const blis_live_request *live = &request->live;
  int64_t tokens = sent_tokens(live);
  double logprob = NAN;
  if (is_completed(live)) {
    logprob = isnan(run->answer.mean_logprob) ? blis_cascade_substitute_logprob(tokens)
                                              : run->answer.mean_logprob;
  }
  uint32_t model = run->chain->models[run->stage];
  return (blis_cascade_attempt){
      .model = blis_intern_text(cluster->source->strings, model),
      .model_id = model,
      .step = run->steps,
      .stage = run->stage,
      .stage_count = run->chain->count,
      .chain = run->chain->models,
      .state = live->state,
      .reason = reason,
      .instance = request->instance,
      .arrival_us = live->arrival_us,
      .start_us = run->start_us,
      .ttft_us = live->ttft_us,
      .end_us = end_us,
      .prompt_tokens = live->was_counted ? live->prompt_tokens : 0,
      .output_tokens = tokens,
      .mean_logprob = logprob,
  };
}

/* Determines whether another model is tried. If the request timed out, its client is gone. */
static blis_status ask_policy(blis_cluster *cluster, blis__cluster_request *request,
                              bool *escalates, blis_error *error) {
  blis__cascade_run *run = run_of(request);
  const blis_cascade *policy = &state_of(cluster)->policy;
  *escalates = false;
  run->next = run->stage + 1;
  if (run->attempt.state == BLIS_REQUEST_TIMED_OUT) {
    return BLIS_OK;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  BLIS_TRY(policy->ops->escalates(policy->state, &shown, &run->attempt, cluster->now_us, escalates,
                                  &run->next, error));
  if (*escalates && run->next <= run->stage) {
    return blis_fail(error, BLIS_ERR_POLICY,
                     "cascade %s: after the model in place %" PRIu32
                     " of the chain it asks the model in place %" PRIu32
                     ", which does not come later",
                     policy->name, run->stage + 1, run->next + 1);
  }
  return BLIS_OK;
}

static blis_status judge(blis_cluster *cluster, blis__cluster_request *request, int64_t end_us,
                         const char *reason, blis_error *error) {
  blis__cascade_run *run = run_of(request);
  BLIS_ASSERT(!run->is_judged);
  bool escalates;
  run->attempt = attempt_of(cluster, request, end_us, reason);
  BLIS_TRY(ask_policy(cluster, request, &escalates, error));
  run->is_judged = true;
  bool is_answer = is_completed(&request->live);
  if (escalates && run->next < run->chain->count) {
    run->verdict = BLIS_CASCADE_ESCALATE;
  } else if (!is_answer) {
    run->verdict = BLIS_CASCADE_FAIL;
  } else {
    run->verdict = escalates ? BLIS_CASCADE_ACCEPT_LAST : BLIS_CASCADE_ACCEPT;
  }
  return BLIS_OK;
}

static blis_status on_completed(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud;
  blis__cascade_run *run = run_of(news->request);
  if (run != NULL) {
    BLIS_TRY(judge(cluster, news->request, news->end_us, NULL, error));
    *news->counts_itl = run->verdict != BLIS_CASCADE_ESCALATE;
  }
  return BLIS_OK;
}

/* Reports an attempt to the sink, which receives the request in its original form. */
static blis_status keep_attempt(const blis_cluster *cluster, const blis__cluster_request *request,
                                blis_error *error) {
  const blis__cascade_run *run = run_of(request);
  const blis_request_sink *sink = cluster->sink;
  if (sink->attempted == NULL) {
    return BLIS_OK;
  }
  blis_request wanted = request->request;
  wanted.model = run->wanted_model;
  return sink->attempted(sink->ud, &wanted, &run->attempt, run->verdict, error);
}

/* Resets the request as if it had just arrived, except its arrival time. */
static blis_status ask_next(blis_cluster *cluster, blis__cluster_request *request, int64_t end_us,
                            blis_error *error) {
  blis_live_request *live = &request->live;
  blis_block_namer_release(cluster->namer, &live->chain);
  blis__reset_request(live);
  request->instance = -1;
  request->router_ticket = (blis_ticket){{0}};
  request->admission_ticket = (blis_ticket){{0}};
  cluster->counts.escalated++;
  int64_t start_us = blis_max_i64(end_us, cluster->now_us);
  BLIS_TRY(begin_attempt(cluster, request, run_of(request)->next, start_us, error));
  int64_t wait_us =
      blis_time_after_us(start_us - cluster->now_us, cluster->config.admission_latency_us);
  return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ADMISSION, wait_us, error);
}

static blis_status on_over(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)ud;
  blis__cluster_request *request = news->request;
  blis__cascade_run *run = run_of(request);
  if (run == NULL) {
    return BLIS_OK;
  }
  if (!run->is_judged) {
    BLIS_TRY(judge(cluster, request, news->end_us, news->reason, error));
  }
  *news->goes_on = run->verdict == BLIS_CASCADE_ESCALATE;
  if (*news->goes_on) { /* otherwise, it is reported together with the request */
    BLIS_TRY(keep_attempt(cluster, request, error));
  }
  const blis__judgement judgement = {&run->attempt, run->verdict};
  BLIS_TRY(BLIS__TELL(cluster, BLIS__JUDGED, error, .request = request, .decided = &judgement));
  return *news->goes_on ? ask_next(cluster, request, news->end_us, error) : BLIS_OK;
}

/* Restores the original model of the request for reports. */
static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud;
  blis__cluster_request *request = news->request;
  blis__cascade_run *run = run_of(request);
  if (run == NULL) {
    return BLIS_OK;
  }
  if (!run->is_judged) { /* the run has ended during the attempt */
    run->attempt = attempt_of(cluster, request, cluster->now_us, NULL);
    run->verdict = BLIS_CASCADE_UNFINISHED;
  }
  BLIS_TRY(keep_attempt(cluster, request, error));
  request->request.model = run->wanted_model;
  request->request.shares_output = run->shared_output;
  news->end->steps = run->steps;
  news->end->attempt = &run->attempt;
  news->end->verdict = run->verdict;
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  (void)cluster, (void)error;
  blis__cascades *c = ud;
  if (run_of(news->request) != NULL) {
    blis_pool_give(&c->runs, run_of(news->request)->slot);
  }
  return BLIS_OK;
}

/* Construction. */

/* Takes ownership of *policy. */
static blis_status add_cascades(blis_cluster *cluster, blis_cascade *policy) {
  blis__cascades *c = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *c);
  if (c == NULL) {
    blis_cascade_free(policy);
    return BLIS_ERR_NOMEM;
  }
  blis_arena_init(&c->arena, &cluster->alloc);
  blis_pool_init(&c->runs, &cluster->alloc, sizeof(blis__cascade_run));
  c->policy = *policy;
  *policy = (blis_cascade){0};
  cluster->features[BLIS_FEATURE_CASCADE] = c;
  const blis__listener listener = {.ud = c,
                                   .phase = BLIS__SEQUELS,
                                   .need = BLIS__NEEDS_ORDER,
                                   .on = {[BLIS__ARRIVED] = on_arrived,
                                          [BLIS__COMPLETED] = on_completed,
                                          [BLIS__OVER] = on_over,
                                          [BLIS__REPORTING] = on_reporting,
                                          [BLIS__ENDED] = on_ended}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

blis_status blis_cluster_set_cascade(blis_cluster *cluster, blis_cascade *cascade,
                                     blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && state_of(cluster) == NULL);
  BLIS_TRY_MEM(add_cascades(cluster, cascade), error);
  blis__cascades *c = state_of(cluster);
  size_t count = c->policy.chain_count;
  c->chains = blis_arena_new(&c->arena, (count + 1) * sizeof *c->chains);
  BLIS_TRY_NEW(c->chains, error);
  BLIS_TRY(check_chains_differ(cluster, error));
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(read_chain(cluster, &c->policy.chains[i], &c->chains[i], error));
  }
  return BLIS_OK;
}

static void free_cascade(blis_cluster *cluster) {
  blis__cascades *c = state_of(cluster);
  if (c == NULL) {
    return;
  }
  blis_cascade_free(&c->policy);
  blis_arena_deinit(&c->arena);
  blis_pool_deinit(&c->runs);
  blis_array_deinit(&cluster->alloc, &c->by_model);
  blis_array_deinit(&cluster->alloc, &c->by_text);
  blis_alloc_free(&cluster->alloc, c, sizeof *c);
}

const blis__feature blis__cascade_feature = {
    .slot = BLIS_FEATURE_CASCADE,
    .name = "cascade",
    .free = free_cascade,
};
