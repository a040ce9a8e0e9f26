/*
 * load.c - the simplest algorithms of RouteSim: round_robin, least_outstanding,
 * least_kv.
 */
#include "policy/routesim/routesim.h"

static const blis_param_spec params_of[] = {BLIS__ROUTESIM_PARAMS};

typedef struct round_robin {
  blis__routesim base;
  bool has_last;
  uint32_t last; /* instance number of the last choice */
} round_robin;

/* Chooses the first candidate after the last choice, or else the first of all. */
static blis_status choose_next(const blis_question *q, size_t *chosen) {
  const blis_routing_view *view = q->view;
  round_robin *self = q->state;
  size_t first = view->count;
  size_t next = view->count;
  for (size_t i = 0; i < view->count && next == view->count; i++) {
    if (blis__routesim_is_full(&self->base, i)) {
      continue;
    }
    first = first == view->count ? i : first;
    if (self->has_last && view->instances[i] > self->last) {
      next = i;
    }
  }
  *chosen = next < view->count ? next : first;
  self->has_last = true;
  self->last = view->instances[*chosen];
  return BLIS_OK;
}

const blis_policy_entry blis__router_routesim_round_robin = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "routesim.round_robin",
    .aliases = "round_robin",
    .summary = "the next instance by number with room in its queue, in turn",
    .source = BLIS__ROUTESIM_SOURCE,
    BLIS__PARAMS(params_of),
    BLIS__ROUTESIM(round_robin, blis__routesim_ops, blis__routesim_init, choose_next, 0),
};

static blis_status choose_least_load(const blis_question *q, size_t *chosen) {
  *chosen = blis__routesim_least_outstanding(q->state, q->view);
  return BLIS_OK;
}

const blis_policy_entry blis__router_routesim_least_outstanding = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "routesim.least_outstanding",
    .aliases = "least_outstanding",
    .summary = "fewest waiting and running requests",
    .source = BLIS__ROUTESIM_SOURCE,
    BLIS__PARAMS(params_of),
    BLIS__ROUTESIM(blis__routesim, blis__routesim_ops, blis__routesim_init, choose_least_load, 0),
};

static blis_status choose_least_kv(const blis_question *q, size_t *chosen) {
  const blis_routing_view *view = q->view;
  const blis__routesim *self = q->state;
  const double *utilization = view->columns[BLIS_SIGNAL_KV_UTILIZATION];
  *chosen = view->count;
  for (size_t i = 0; i < view->count; i++) {
    if (!blis__routesim_is_full(self, i) &&
        (*chosen == view->count || utilization[i] < utilization[*chosen])) {
      *chosen = i;
    }
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_routesim_least_kv = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "routesim.least_kv",
    .aliases = "least_kv",
    .summary = "lowest KV utilisation",
    .source = BLIS__ROUTESIM_SOURCE,
    BLIS__PARAMS(params_of),
    BLIS__ROUTESIM(blis__routesim, blis__routesim_ops, blis__routesim_init, choose_least_kv,
                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION)),
};
