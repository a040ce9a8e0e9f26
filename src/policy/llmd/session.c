/*
 * session.c - scorer llm-d.session-affinity-scorer and filter llm-d.session-affinity-filter: prefer
 * the instance to which a session was last sent.
 *
 * With key = siblings, all sessions called by the same session count as one, as in the AgentX
 * profile of AISimulate. With key = program, all sessions of a program count as one.
 */
#include "policy/contract/entry.h"
#include "policy/memory/bindings.h"

enum { SESSION, SIBLINGS, PROGRAM };

/* Distinguishes a group of siblings from the session that called them. */
#define GROUP (UINT64_C(1) << 32)

typedef struct session_memory {
  blis__bindings sessions;
  int64_t ttl_us;
  uint32_t key; /* one of the keys above */
} session_memory;

/* Returns the key of a request; 0 = none. */
static uint64_t key_of(const session_memory *self, const blis_routing_request *request) {
  const blis_call *call = request->call;
  if (call != NULL && self->key == SIBLINGS && call->parent_session != 0) {
    return GROUP | call->parent_session;
  }
  return call != NULL && self->key == PROGRAM ? call->program->root_session : request->session;
}

/* Returns the candidate that the session is bound to, or view->count. */
static size_t bound_candidate(const session_memory *self, const blis_routing_request *request,
                              const blis_routing_view *view) {
  uint64_t key = key_of(self, request);
  const blis__binding *binding = key == 0 ? NULL : blis__bindings_find(&self->sessions, key);
  bool is_bound = binding != NULL && view->now_us - binding->last_use_us <= self->ttl_us;
  return is_bound ? blis_routing_view_find(view, binding->instance) : view->count;
}

static blis_status observe(const blis_question *q, size_t chosen) {
  const blis_routing_view *view = q->view;
  session_memory *self = q->state;
  uint64_t key = key_of(self, q->request);
  if (key != 0 &&
      blis__bindings_put(&self->sessions, key, view->instances[chosen], view->now_us) != BLIS_OK) {
    return blis_fail_nomem(q->error);
  }
  return BLIS_OK;
}

static blis_status score(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  size_t bound = bound_candidate(q->state, q->request, view);
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = i == bound;
  }
  return BLIS_OK;
}

/* Keeps the bound candidate, or all candidates if none is bound. */
static blis_status filter(const blis_question *q, bool *keep) {
  const blis_routing_view *view = q->view;
  size_t bound = bound_candidate(q->state, q->request, view);
  for (size_t i = 0; i < view->count; i++) {
    keep[i] = i == bound || bound == view->count;
  }
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  session_memory *self = state;
  blis__bindings_deinit(&self->sessions);
}

static const blis_param_spec params_of[] = {
    BLIS__INTEGER("ttl_us", 0, 1e15, 300e6, "us", "forget a session after this idle time",
                  BLIS__INTO(session_memory, ttl_us)),
    BLIS__CHOICE("key", "session|siblings|program",
                 "what stays together: a session; of session graphs, all "
                 "sessions that the same one has called; or a whole program",
                 BLIS__INTO(session_memory, key)),
};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  blis__bindings_init(&((session_memory *)state)->sessions, setup->alloc);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_llmd_session_affinity = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.session-affinity-scorer",
    .summary = "1 for the session's instance, else 0",
    .source = "llm-d router ebab6879",
    BLIS__PARAMS(params_of),
    .ops = &(const blis_scorer_ops){.score = score, .observe = observe, .free = free_state},
    .state_size = sizeof(session_memory),
    .init = init,
};

const blis_policy_entry blis__filter_session_affinity = {
    .kind = BLIS_POLICY_FILTER,
    .name = "llm-d.session-affinity-filter",
    .summary = "keeps only the session's instance while it is a candidate",
    .source = "llm-d router ebab6879",
    BLIS__PARAMS(params_of),
    .ops = &(const blis_filter_ops){.filter = filter, .observe = observe, .free = free_state},
    .state_size = sizeof(session_memory),
    .init = init,
};
