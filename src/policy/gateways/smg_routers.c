/*
 * smg_routers.c - routing policies smg.power_of_two, smg.manual,
 * sglang.workload_aware.
 */
#include "policy/gateways/gateway.h"
#include "policy/pickers/pick_rules.h"

static blis_status choose_of_two(const blis_question *q, size_t *chosen) {
  *chosen = blis__less_of_two(q, blis__kv_utilization);
  return BLIS_OK;
}

const blis_policy_entry blis__router_smg_power_of_two = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "smg.power_of_two",
    .summary = "the one of two random instances with the lower KV utilisation",
    .source = "SMG 73da68ca",
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION), .choose = choose_of_two),
};

enum { ASSIGNMENT, IDLE_TIME };

enum { ASSIGN_RANDOM, ASSIGN_MIN_LOAD };

static const blis_param_spec manual_params[] = {
    BLIS__CHOICE("assignment_mode", "random|min_load", "choice for an unknown session"),
    BLIS__INTEGER("max_idle_us", 0, 1e15, 14400e6, "us", "forget a session after this idle time"),
};

static size_t assign(blis__gateway *self, const blis_routing_view *view) {
  return self->values[ASSIGNMENT] == ASSIGN_MIN_LOAD
             ? blis__any_least(&self->random, view->columns[BLIS_SIGNAL_IN_FLIGHT], view->count)
             : blis_pick_random(&self->random, view->count);
}

/* A session is bound to up to two instances, under these keys; the older binding is first. */
static uint64_t key_of(const blis_routing_request *request, unsigned place) {
  return (uint64_t)request->session * 2 + place;
}

static void forget_when_idle(blis__gateway *self, uint64_t key, int64_t now_us) {
  const blis__binding *binding = blis__bindings_find(&self->sessions, key);
  if (binding != NULL && (double)(now_us - binding->last_use_us) > self->values[IDLE_TIME]) {
    blis__bindings_remove(&self->sessions, key);
  }
}

/* Binds a session to an instance; a third instance replaces the older binding. */
static blis_status remember(blis__gateway *self, const blis_routing_request *request,
                            uint32_t instance, int64_t now_us) {
  const blis__binding *older = blis__bindings_find(&self->sessions, key_of(request, 0));
  const blis__binding *newer = blis__bindings_find(&self->sessions, key_of(request, 1));
  if (newer != NULL) {
    uint32_t moved = newer->instance;
    BLIS_TRY(blis__bindings_put(&self->sessions, key_of(request, 0), moved, now_us));
  }
  return blis__bindings_put(&self->sessions, key_of(request, older != NULL), instance, now_us);
}

static blis_status choose_manually(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  if (request->session == 0) {
    *chosen = assign(self, view);
    return BLIS_OK;
  }
  for (unsigned place = 0; place < 2; place++) {
    uint64_t key = key_of(request, place);
    forget_when_idle(self, key, view->now_us);
    *chosen = blis__bindings_candidate(&self->sessions, key, view);
    if (*chosen < view->count) {
      BLIS_TRY_MEM(blis__bindings_put(&self->sessions, key, view->instances[*chosen], view->now_us),
                   q->error);
      return BLIS_OK;
    }
  }
  *chosen = assign(self, view);
  BLIS_TRY_MEM(remember(self, request, view->instances[*chosen], view->now_us), q->error);
  return BLIS_OK;
}

const blis_policy_entry blis__router_smg_manual = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "smg.manual",
    .summary = "the first available of the two instances bound to the session; "
               "else a random or idle one",
    .source = "SMG 73da68ca",
    BLIS__PARAMS(manual_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose_manually),
};

enum { MAX_WAITING };

static const blis_param_spec workload_params[] = {
    BLIS__NUMBER("max_waiting", 0, 1e12, 10, "requests",
                 "an instance with more waiting requests gets no more"),
};

static blis_status choose_by_workload(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  size_t eligible = 0;
  for (size_t i = 0; i < view->count; i++) {
    if (waiting[i] <= self->values[MAX_WAITING]) {
      self->order.items[eligible++] = i;
    }
  }
  *chosen =
      eligible == 0 ? view->count : self->order.items[blis_pick_random(&self->random, eligible)];
  return BLIS_OK;
}

const blis_policy_entry blis__router_sglang_workload_aware = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "sglang.workload_aware",
    .summary = "any instance with few waiting requests; rejects the request "
               "if no such instance exists",
    .source = "SGLang gateway f318dbdb; counts are as fresh as the snapshot",
    BLIS__PARAMS(workload_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH), .choose = choose_by_workload),
};
