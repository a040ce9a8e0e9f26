/*
 * b3_later.c - routing policies b3.linear, b3.lpwl, b3.leastwork_kappa: later
 * ideas of the project that lmetric and unified come from.
 *
 *   b3.linear            ongoing tokens - alpha * cached tokens; a session
 *                        keeps its instance unless that is overloaded
 *   b3.lpwl              pending prefill + new tokens
 *   b3.leastwork_kappa   the same x (1 + kappa * tokens in decode)
 */
#include "policy/b3/b3.h"
#include "policy/memory/bindings.h"

typedef struct b3_later {
  blis__b3 b3;
  double alpha; /* of linear */
  double overload_factor;
  double kappa;  /* of leastwork_kappa */
  uint64_t ties; /* broken so far */
  blis__bindings sessions;
} b3_later;

static const blis__load *load_at(const b3_later *self,
                                 const blis_routing_view *view, size_t i) {
  return &self->b3.counters.items[view->instances[i]];
}

/* lpwl, as kappa 0, and leastwork_kappa. */

static void score_work(b3_later *self, const blis_routing_request *request,
                       const blis_routing_view *view) {
  for (size_t i = 0; i < view->count; i++) {
    const blis__load *load = load_at(self, view, i);
    int64_t work =
        load->pending_prefill_tokens + request->prompt_tokens -
        blis__b3_cached_tokens(&self->b3, request, view->instances[i]);
    self->b3.scores.items[i] =
        0 - (double)work * (1 + self->kappa * (double)load->decode_tokens);
  }
}

/* Less than 0 when a is better than b, 0 when they are equal. */
static int compare_work(const b3_later *self, const blis_routing_view *view,
                        size_t a, size_t b) {
  const double *scores = self->b3.scores.items; /* negated */
  if (scores[a] != scores[b]) {
    return scores[a] > scores[b] ? -1 : 1;
  }
  int64_t requests =
      load_at(self, view, a)->requests - load_at(self, view, b)->requests;
  return (requests > 0) - (requests < 0);
}

/* Of equally good ones each in turn. */
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

static blis_status route_to_least_work(void *state,
                                       const blis_routing_request *request,
                                       const blis_routing_view *view,
                                       blis_decision *decision,
                                       blis_error *error) {
  b3_later *self = state;
  BLIS_TRY_MEM(blis__b3_score(&self->b3, request, view, 0), error);
  score_work(self, request, view);
  size_t chosen = least_work(self, view);
  return blis__b3_take(&self->b3, request, view, chosen, decision) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

/* linear. */

static void score_linear(b3_later *self, const blis_routing_request *request,
                         const blis_routing_view *view) {
  for (size_t i = 0; i < view->count; i++) {
    double cached =
        (double)blis__b3_cached_tokens(&self->b3, request, view->instances[i]);
    double ongoing = (double)load_at(self, view, i)->ongoing_tokens;
    self->b3.scores.items[i] = self->alpha * cached - ongoing;
  }
}

static bool is_overloaded(const b3_later *self, const blis_routing_view *view,
                          size_t candidate) {
  double sum = 0;
  for (size_t i = 0; i < view->count; i++) {
    sum += (double)load_at(self, view, i)->ongoing_tokens;
  }
  double mean = sum / (double)view->count;
  double ongoing = (double)load_at(self, view, candidate)->ongoing_tokens;
  return ongoing > self->overload_factor * mean;
}

static size_t choose_linear(const b3_later *self,
                            const blis_routing_request *request,
                            const blis_routing_view *view) {
  const blis__binding *binding =
      blis__bindings_find(&self->sessions, request->session);
  size_t bound = request->session == 0 || binding == NULL
                     ? view->count
                     : blis_routing_view_find(view, binding->instance);
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

static blis_status decide_linear(b3_later *self,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view,
                                 blis_decision *decision) {
  BLIS_TRY(blis__b3_score(&self->b3, request, view, 0));
  score_linear(self, request, view);
  size_t chosen = choose_linear(self, request, view);
  if (request->session != 0) {
    BLIS_TRY(blis__bindings_put(&self->sessions, request->session,
                                view->instances[chosen], view->now_us));
  }
  return blis__b3_take(&self->b3, request, view, chosen, decision);
}

static blis_status route_linear(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view,
                                blis_decision *decision, blis_error *error) {
  return decide_linear(state, request, view, decision) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static void free_state(const blis_alloc *alloc, void *state) {
  b3_later *self = state;
  blis__b3_deinit(&self->b3);
  blis__bindings_deinit(&self->sessions);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_router_ops work_ops = {.route = route_to_least_work,
                                         .first_token = blis__b3_first_token,
                                         .ended = blis__b3_ended,
                                         .free = free_state};

static const blis_router_ops linear_ops = {.route = route_linear,
                                           .first_token = blis__b3_first_token,
                                           .ended = blis__b3_ended,
                                           .free = free_state};

static blis_status make(const blis_alloc *alloc, const blis_router_entry *entry,
                        const blis_router_ops *ops, const blis_params *params,
                        const blis_policy_context *context, blis_router *router,
                        blis_error *error) {
  b3_later *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self == NULL || blis__b3_init(&self->b3, alloc, params, entry->params,
                                    entry->param_count, context) != BLIS_OK) {
    blis_alloc_free(alloc, self, sizeof *self);
    return blis_fail_nomem(error);
  }
  blis__bindings_init(&self->sessions, alloc);
  *router = (blis_router){
      .ops = ops, .state = self, .alloc = *alloc, .name = entry->name};
  return BLIS_OK;
}

#define B3_SOURCE "LMetric and B3: later variants of the project"

static const blis_param_spec lpwl_params[] = {BLIS__B3_PARAMS};

static blis_status create_lpwl(const blis_alloc *alloc,
                               const blis_params *params,
                               const blis_policy_context *context,
                               blis_router *router, blis_error *error) {
  return make(alloc, &blis__router_b3_lpwl, &work_ops, params, context, router,
              error);
}

const blis_router_entry blis__router_b3_lpwl = {
    .name = "b3.lpwl",
    .aliases = "",
    .summary = "least pending prefill + new tokens, then fewest requests, then "
               "each in turn",
    .source = B3_SOURCE,
    .params = lpwl_params,
    .param_count = 2,
    .create = create_lpwl,
};

static const blis_param_spec kappa_params[] = {
    BLIS__B3_PARAMS,
    {.name = "kappa",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 2.5e-6,
     .unit = "per token",
     .summary = "weight of prompts in decode"},
};

static blis_status create_kappa(const blis_alloc *alloc,
                                const blis_params *params,
                                const blis_policy_context *context,
                                blis_router *router, blis_error *error) {
  BLIS_TRY(make(alloc, &blis__router_b3_leastwork_kappa, &work_ops, params,
                context, router, error));
  b3_later *self = router->state;
  self->kappa = blis_params_number(params, kappa_params, 3, "kappa");
  return BLIS_OK;
}

const blis_router_entry blis__router_b3_leastwork_kappa = {
    .name = "b3.leastwork_kappa",
    .aliases = "",
    .summary = "least (pending prefill + new tokens) x (1 + kappa x tokens in "
               "decode)",
    .source = B3_SOURCE,
    .params = kappa_params,
    .param_count = 3,
    .create = create_kappa,
};

static const blis_param_spec linear_params[] = {
    BLIS__B3_PARAMS,
    {.name = "alpha",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 1,
     .unit = "",
     .summary = "weight of a cached token"},
    {.name = "overload_factor",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 2,
     .unit = "",
     .summary = "a session leaves an instance with more than this many times "
                "the mean of ongoing tokens"},
};

static blis_status create_linear(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_router *router, blis_error *error) {
  BLIS_TRY(make(alloc, &blis__router_b3_linear, &linear_ops, params, context,
                router, error));
  b3_later *self = router->state;
  self->alpha = blis_params_number(params, linear_params, 4, "alpha");
  self->overload_factor =
      blis_params_number(params, linear_params, 4, "overload_factor");
  return BLIS_OK;
}

const blis_router_entry blis__router_b3_linear = {
    .name = "b3.linear",
    .aliases = "",
    .summary = "the session's instance unless overloaded, else least ongoing "
               "tokens - alpha x cached tokens",
    .source = B3_SOURCE,
    .params = linear_params,
    .param_count = 4,
    .create = create_linear,
};
