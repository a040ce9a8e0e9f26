/*
 * sessions.c - load_only and sticky, the two cache-blind controls of the B3 experiments: load_only
 * selects the instance with the fewest requests; sticky always selects the session's instance.
 *
 * Requests are counted by the router itself: those that it has sent and that have not ended.
 */
#include <stdbool.h>

#include "policy/contract/entry.h"
#include "policy/memory/bindings.h"
#include "policy/memory/load_counters.h"

typedef struct session_router {
  blis_alloc alloc;
  blis__load_counters counters;
  BLIS_ARRAY(double) requests; /* requests in flight per candidate */
  blis_tie tie;
  bool is_sticky;
  int64_t session_ttl_us; /* 0 = bindings do not expire */
  blis__bindings sessions;
} session_router;

static blis_status fewest_requests(session_router *self, const blis_routing_view *view,
                                   size_t *chosen) {
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->requests, view->count));
  for (size_t i = 0; i < view->count; i++) {
    self->requests.items[i] = (double)self->counters.items[view->instances[i]].requests;
  }
  *chosen = blis_tie_pick_min(&self->tie, self->requests.items, view);
  return BLIS_OK;
}

/* Returns the candidate that the session is bound to, or view->count. */
static size_t bound_candidate(const session_router *self, const blis_routing_request *request,
                              const blis_routing_view *view) {
  const blis__binding *binding = blis__bindings_find(&self->sessions, request->session);
  bool has_expired = binding != NULL && self->session_ttl_us > 0 &&
                     view->now_us - binding->last_use_us > self->session_ttl_us;
  return binding == NULL || has_expired ? view->count
                                        : blis_routing_view_find(view, binding->instance);
}

static blis_status choose(session_router *self, const blis_routing_request *request,
                          const blis_routing_view *view, size_t *chosen) {
  bool has_session = self->is_sticky && request->session != 0;
  *chosen = has_session ? bound_candidate(self, request, view) : view->count;
  if (*chosen == view->count) {
    BLIS_TRY(fewest_requests(self, view, chosen));
  }
  return has_session ? blis__bindings_put(&self->sessions, request->session,
                                          view->instances[*chosen], view->now_us)
                     : BLIS_OK;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  session_router *self = q->state;
  size_t chosen;
  BLIS_TRY_MEM(blis__load_counters_reserve(&self->counters, &self->alloc, view), q->error);
  BLIS_TRY_MEM(choose(self, request, view, &chosen), q->error);
  blis__load_counters_add(&self->counters, request->ticket, view->instances[chosen], 0,
                          request->prompt_tokens);
  *decision = (blis_decision){.chosen = chosen};
  return BLIS_OK;
}

static void ended(void *state, blis_ticket *ticket, uint32_t instance,
                  const blis_request_times *times) {
  (void)times;
  session_router *self = state;
  blis__load_counters_ended(&self->counters, ticket, instance);
}

static void free_state(const blis_alloc *alloc, void *state) {
  session_router *self = state;
  blis_array_deinit(alloc, &self->counters);
  blis_array_deinit(alloc, &self->requests);
  blis__bindings_deinit(&self->sessions);
}

static const blis_router_ops ops = {.route = route, .ended = ended, .free = free_state};

static const blis_param_spec load_only_params[] = {BLIS__TIE_FIRST_PARAM};

static const blis_param_spec sticky_params[] = {
    BLIS__TIE_FIRST_PARAM,
    BLIS__INTEGER("session_ttl_us", 0, 1e15, 0, "us",
                  "rebind a session after this idle time; 0 = never",
                  BLIS__INTO(session_router, session_ttl_us)),
};

extern const blis_policy_entry blis__router_sticky;

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  session_router *self = state;
  self->alloc = *setup->alloc;
  self->is_sticky = setup->entry == &blis__router_sticky;
  blis__bindings_init(&self->sessions, setup->alloc);
  blis_setup_tie(setup, &self->tie);
  return BLIS_OK;
}

const blis_policy_entry blis__router_load_only = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "load_only",
    .aliases = "b3.load_only",
    .summary = "fewest requests; ignores caches and sessions",
    .source = "B3 Routing Policies - Pseudocode (08530b3915)",
    BLIS__PARAMS(load_only_params),
    .ops = &ops,
    .state_size = sizeof(session_router),
    .init = init,
};

const blis_policy_entry blis__router_sticky = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "sticky",
    .aliases = "b3.sticky",
    .summary = "the session's instance whatever its load; for a new session "
               "the fewest requests",
    .source = "B3 Routing Policies - Pseudocode (08530b3915)",
    BLIS__PARAMS(sticky_params),
    .ops = &ops,
    .state_size = sizeof(session_router),
    .init = init,
};
