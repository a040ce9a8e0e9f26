/*
 * later.c - routing policies b3.linear, b3.lpwl, b3.leastwork_kappa: later ideas from the authors
 * of lmetric and unified.
 *
 * Scores, lowest first:
 *
 *   b3.linear            ongoing tokens - alpha * cached tokens; a session keeps its instance
 *                        unless the instance is overloaded
 *   b3.lpwl              pending prefill + new tokens
 *   b3.leastwork_kappa   the same x (1 + kappa * tokens in decode)
 */
#include "policy/b3/b3.h"
#include "policy/memory/bindings.h"

typedef struct b3_later {
  blis__b3 b3;
  double alpha; /* used by b3.linear */
  double overload_factor;
  double kappa;  /* used by b3.leastwork_kappa */
  uint64_t ties; /* number of ties broken so far */
  blis__bindings sessions;
} b3_later;

static const blis__load *load_at(const b3_later *self, const blis_routing_view *view, size_t i) {
  return &self->b3.counters.items[view->instances[i]];
}

/* b3.lpwl (kappa 0) and b3.leastwork_kappa. */

static void score_work(b3_later *self, const blis_routing_request *request,
                       const blis_routing_view *view) {
  for (size_t i = 0; i < view->count; i++) {
    const blis__load *load = load_at(self, view, i);
    int64_t work = load->pending_prefill_tokens + request->prompt_tokens -
                   blis__b3_cached_tokens(&self->b3, request, view->instances[i]);
    self->b3.scores.items[i] = 0 - (double)work * (1 + self->kappa * (double)load->decode_tokens);
  }
}

/* Returns a negative number if a is better than b, and 0 if they are equal. */
static int compare_work(const b3_later *self, const blis_routing_view *view, size_t a, size_t b) {
  const double *scores = self->b3.scores.items; /* negated */
  if (scores[a] != scores[b]) {
    return scores[a] > scores[b] ? -1 : 1;
  }
  int64_t requests = load_at(self, view, a)->requests - load_at(self, view, b)->requests;
  return (requests > 0) - (requests < 0);
}

/* Equally good candidates are used in rotation. */
static size_t least_work(b3_later *self, const blis_routing_view *view) {
  size_t best = 0;
  size_t tied = 1;
  for (size_t i = 1; i < view->count; i++) {
    int order = compare_work(self, view, i, best);
    tied = order < 0 ? 1 : tied + (order == 0);
    best = order < 0 ? i : best;
  }
  uint64_t skipped = tied > 1 ? self->ties++ % tied : 0;
  size_t chosen = best;
  while (skipped > 0) {
    chosen++;
    skipped -= compare_work(self, view, chosen, best) == 0;
  }
  return chosen;
}

static blis_status route_to_least_work(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  b3_later *self = q->state;
  BLIS_TRY_MEM(blis__b3_score(&self->b3, request, view, 0), q->error);
  score_work(self, request, view);
  size_t chosen = least_work(self, view);
  BLIS_TRY_MEM(blis__b3_take(&self->b3, request, view, chosen, decision), q->error);
  return BLIS_OK;
}

/* linear. */

static void score_linear(b3_later *self, const blis_routing_request *request,
                         const blis_routing_view *view) {
  for (size_t i = 0; i < view->count; i++) {
    double cached = (double)blis__b3_cached_tokens(&self->b3, request, view->instances[i]);
    double ongoing = (double)load_at(self, view, i)->ongoing_tokens;
    self->b3.scores.items[i] = self->alpha * cached - ongoing;
  }
}

static bool is_overloaded(const b3_later *self, const blis_routing_view *view, size_t candidate) {
  double sum = 0;
  for (size_t i = 0; i < view->count; i++) {
    sum += (double)load_at(self, view, i)->ongoing_tokens;
  }
  double mean = sum / (double)view->count;
  double ongoing = (double)load_at(self, view, candidate)->ongoing_tokens;
  return ongoing > self->overload_factor * mean;
}

static size_t choose_linear(const b3_later *self, const blis_routing_request *request,
                            const blis_routing_view *view) {
  size_t bound = request->session == 0
                     ? view->count
                     : blis__bindings_candidate(&self->sessions, request->session, view);
  if (bound < view->count && !is_overloaded(self, view, bound)) {
    return bound;
  }
  const double *scores = self->b3.scores.items;
  size_t best = 0;
  for (size_t i = 1; i < view->count; i++) {
    best = scores[i] > scores[best] ? i : best;
  }
  return best;
}

static blis_status decide_linear(b3_later *self, const blis_routing_request *request,
                                 const blis_routing_view *view, blis_decision *decision) {
  BLIS_TRY(blis__b3_score(&self->b3, request, view, 0));
  score_linear(self, request, view);
  size_t chosen = choose_linear(self, request, view);
  if (request->session != 0) {
    BLIS_TRY(blis__bindings_put(&self->sessions, request->session, view->instances[chosen],
                                view->now_us));
  }
  return blis__b3_take(&self->b3, request, view, chosen, decision);
}

static blis_status route_linear(const blis_question *q, blis_decision *decision) {
  BLIS_TRY_MEM(decide_linear(q->state, q->request, q->view, decision), q->error);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  b3_later *self = state;
  blis__b3_deinit(&self->b3);
  blis__bindings_deinit(&self->sessions);
}

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  b3_later *self = state;
  blis__bindings_init(&self->sessions, setup->alloc);
  BLIS_TRY_MEM(blis__b3_init(&self->b3, setup), error);
  return BLIS_OK;
}

static const blis_router_ops work_ops = {.route = route_to_least_work,
                                         .first_token = blis__b3_first_token,
                                         .ended = blis__b3_ended,
                                         .free = free_state};

static const blis_router_ops linear_ops = {.route = route_linear,
                                           .first_token = blis__b3_first_token,
                                           .ended = blis__b3_ended,
                                           .free = free_state};

#define B3_SOURCE "LMetric and B3: later variants of the project"

static const blis_param_spec lpwl_params[] = {BLIS__B3_PARAMS};

const blis_policy_entry blis__router_b3_lpwl = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "b3.lpwl",
    .summary = "least pending prefill + new tokens, then fewest requests, then "
               "in turn",
    .source = B3_SOURCE,
    BLIS__PARAMS(lpwl_params),
    .ops = &work_ops,
    .state_size = sizeof(b3_later),
    .init = init,
};

static const blis_param_spec kappa_params[] = {
    BLIS__B3_PARAMS,
    BLIS__NUMBER("kappa", 0, 1e9, 2.5e-6, "per token", "weight of prompts in decode",
                 BLIS__INTO(b3_later, kappa)),
};

const blis_policy_entry blis__router_b3_leastwork_kappa = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "b3.leastwork_kappa",
    .summary = "least (pending prefill + new tokens) x (1 + kappa x tokens in "
               "decode)",
    .source = B3_SOURCE,
    BLIS__PARAMS(kappa_params),
    .ops = &work_ops,
    .state_size = sizeof(b3_later),
    .init = init,
};

static const blis_param_spec linear_params[] = {
    BLIS__B3_PARAMS,
    BLIS__NUMBER("alpha", 0, 1e9, 1, "", "weight of a cached token", BLIS__INTO(b3_later, alpha)),
    BLIS__NUMBER("overload_factor", 0, 1e9, 2, "",
                 "a session leaves an instance with more than this many times "
                 "the mean of ongoing tokens",
                 BLIS__INTO(b3_later, overload_factor)),
};

const blis_policy_entry blis__router_b3_linear = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "b3.linear",
    .summary = "the session's instance unless overloaded, else least ongoing "
               "tokens - alpha x cached tokens",
    .source = B3_SOURCE,
    BLIS__PARAMS(linear_params),
    .ops = &linear_ops,
    .state_size = sizeof(b3_later),
    .init = init,
};
