/*
 * llmd_session.c - scorer llm-d.session-affinity-scorer and filter
 * llm-d.session-affinity-filter: a session and the instance that it was sent
 * to last.
 */
#include "policy/contract/policy.h"
#include "policy/memory/bindings.h"

typedef struct session_memory {
  blis__bindings sessions;
  int64_t ttl_us;
} session_memory;

/* The candidate that the session is bound to, or view->count. */
static size_t bound_candidate(const session_memory *self,
                              const blis_routing_request *request,
                              const blis_routing_view *view) {
  const blis__binding *binding =
      request->session == 0
          ? NULL
          : blis__bindings_find(&self->sessions, request->session);
  bool is_bound =
      binding != NULL && view->now_us - binding->last_use_us <= self->ttl_us;
  return is_bound ? blis_routing_view_find(view, binding->instance)
                  : view->count;
}

static blis_status observe(void *state, const blis_routing_request *request,
                           const blis_routing_view *view, size_t chosen,
                           blis_error *error) {
  session_memory *self = state;
  if (request->session != 0 &&
      blis__bindings_put(&self->sessions, request->session,
                         view->instances[chosen], view->now_us) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status score(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, double *scores,
                         blis_error *error) {
  (void)error;
  size_t bound = bound_candidate(state, request, view);
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = i == bound;
  }
  return BLIS_OK;
}

/* Keeps the bound one, and all when there is none. */
static blis_status filter(void *state, const blis_routing_request *request,
                          const blis_routing_view *view, bool *keep,
                          blis_error *error) {
  (void)error;
  size_t bound = bound_candidate(state, request, view);
  for (size_t i = 0; i < view->count; i++) {
    keep[i] = i == bound || bound == view->count;
  }
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  session_memory *self = state;
  blis__bindings_deinit(&self->sessions);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_param_spec params_of[] = {
    {.name = "ttl_us",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1e15,
     .fallback = 300e6,
     .unit = "us",
     .summary = "a session not heard of for longer is forgotten"},
};

static session_memory *make(const blis_alloc *alloc,
                            const blis_params *params) {
  session_memory *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self != NULL) {
    blis__bindings_init(&self->sessions, alloc);
    self->ttl_us = (int64_t)blis_params_number(params, params_of, 1, "ttl_us");
  }
  return self;
}

static const blis_scorer_ops scorer_ops = {
    .score = score, .observe = observe, .free = free_state};

static blis_status create_scorer(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_scorer *scorer, blis_error *error) {
  (void)context;
  session_memory *self = make(alloc, params);
  BLIS_TRY_NEW(self, error);
  *scorer = (blis_scorer){.ops = &scorer_ops,
                          .state = self,
                          .alloc = *alloc,
                          .name = "llm-d.session-affinity-scorer"};
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_llmd_session_affinity = {
    .name = "llm-d.session-affinity-scorer",
    .aliases = "",
    .summary = "1 for the session's instance, else 0",
    .source = "llm-d router ebab6879",
    .params = params_of,
    .param_count = 1,
    .create = create_scorer,
};

static const blis_filter_ops filter_ops = {
    .filter = filter, .observe = observe, .free = free_state};

static blis_status create_filter(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_filter *made, blis_error *error) {
  (void)context;
  session_memory *self = make(alloc, params);
  BLIS_TRY_NEW(self, error);
  *made = (blis_filter){.ops = &filter_ops,
                        .state = self,
                        .alloc = *alloc,
                        .name = "llm-d.session-affinity-filter"};
  return BLIS_OK;
}

const blis_filter_entry blis__filter_session_affinity = {
    .name = "llm-d.session-affinity-filter",
    .aliases = "",
    .summary = "keeps the session's instance alone while it is a candidate",
    .source = "llm-d router ebab6879",
    .params = params_of,
    .param_count = 1,
    .create = create_filter,
};
