/*
 * session.c - RouteSim's session_affinity: a conversation stays on its first instance while the
 * queue of that instance is not full.
 */
#include "policy/memory/bindings.h"
#include "policy/routesim/routesim.h"

typedef struct session_router {
  blis__routesim base;
  blis__bindings sessions;
  uint32_t max_sessions;
} session_router;

/* Returns the candidate of the session's instance, or view->count. */
static size_t bound_candidate(const session_router *self, uint32_t session,
                              const blis_routing_view *view) {
  size_t i = blis__bindings_candidate(&self->sessions, session, view);
  return i < view->count && !blis__routesim_is_full(&self->base, i) ? i : view->count;
}

static blis_status choose_for_session(session_router *self, const blis_routing_request *request,
                                      const blis_routing_view *view, size_t *chosen) {
  *chosen = bound_candidate(self, request->session, view);
  if (*chosen == view->count) {
    *chosen = blis__routesim_least_outstanding(&self->base, view);
    blis__bindings_remove(&self->sessions, request->session);
    uint32_t count = blis__bindings_count(&self->sessions);
    if (count > self->max_sessions) {
      blis__bindings_drop_oldest(&self->sessions, count / 2);
    }
  }
  return blis__bindings_put(&self->sessions, request->session, view->instances[*chosen],
                            view->now_us);
}

static blis_status choose(const blis_question *q, size_t *chosen) {
  const blis_routing_view *view = q->view;
  session_router *self = q->state;
  if (q->request->session == 0) {
    *chosen = blis__routesim_least_outstanding(&self->base, view);
  } else {
    BLIS_TRY_MEM(choose_for_session(self, q->request, view, chosen), q->error);
  }
  blis__routesim_tell(&self->base, "active_sessions", blis__bindings_count(&self->sessions));
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  session_router *self = state;
  blis__bindings_deinit(&self->sessions);
  blis__routesim_free(alloc, state);
}

static const blis_router_ops ops = {.route = blis__routesim_route,
                                    .first_token = blis__routesim_first_token,
                                    .ended = blis__routesim_ended,
                                    .free = free_state};

static const blis_param_spec params_of[] = {
    BLIS__ROUTESIM_PARAMS,
    BLIS__INTEGER("max_sessions", 0, 1 << 30, 100000, "sessions",
                  "when more are known, a new one evicts the least recently used half",
                  BLIS__INTO(session_router, max_sessions))};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  session_router *self = state;
  blis__bindings_init(&self->sessions, setup->alloc);
  return blis__routesim_init(state, setup, error);
}

const blis_policy_entry blis__router_routesim_session_affinity = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "routesim.session_affinity",
    .aliases = "session_affinity",
    .summary = "the session's instance unless its queue is full; for a new "
               "session the fewest waiting and decoding requests",
    .source = BLIS__ROUTESIM_SOURCE,
    BLIS__PARAMS(params_of),
    BLIS__ROUTESIM(session_router, ops, init, choose, 0),
};
