/*
 * cost.c - RouteSim's cost_escalation: every decision raises the cost of the chosen instance, by
 * more if it is busy. Costs decay over time.
 */
#include "policy/routesim/routesim.h"

typedef struct cost_router {
  blis__routesim base;
  double base_cost;
  double queue_cost;
  double pressure_cost;
  double decay_per_s;
  int64_t decayed_us;       /* time up to which decay has been applied */
  BLIS_ARRAY(double) costs; /* by instance number */
} cost_router;

static blis_status make_room(cost_router *self, const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->base.alloc, &self->costs, instances));
  while (self->costs.count < instances) {
    self->costs.items[self->costs.count++] = 0;
  }
  return BLIS_OK;
}

/* Applies decay, also to instances that are not candidates. */
static void decay(cost_router *self, int64_t now_us) {
  double elapsed_s = (double)(now_us - self->decayed_us) / 1e6;
  self->decayed_us = now_us;
  if (elapsed_s > 0 && self->decay_per_s > 0) {
    double factor = exp(-self->decay_per_s * elapsed_s);
    for (size_t k = 0; k < self->costs.count; k++) {
      self->costs.items[k] *= factor;
    }
  }
}

/* Reports RouteSim's custom metrics, with the costs after the decision. */
static void tell_costs(cost_router *self) {
  double most = 0;
  double least = INFINITY;
  for (size_t k = 0; k < self->costs.count; k++) {
    most = fmax(most, self->costs.items[k]);
    least = fmin(least, self->costs.items[k]);
  }
  blis__routesim_tell(&self->base, "max_backend_cost", most);
  blis__routesim_tell(&self->base, "min_backend_cost", least);
  blis__routesim_tell(&self->base, "cost_spread", most - least);
}

static blis_status choose(const blis_question *q, size_t *chosen) {
  const blis_routing_view *view = q->view;
  cost_router *self = q->state;
  BLIS_TRY_MEM(make_room(self, view), q->error);
  decay(self, view->now_us);
  double *scores = self->base.scores.items;
  *chosen = view->count;
  for (size_t i = 0; i < view->count; i++) {
    bool is_full = blis__routesim_is_full(&self->base, i);
    scores[i] = is_full ? -(double)INFINITY : 0 - self->costs.items[view->instances[i]];
    if (!is_full && (*chosen == view->count || scores[i] > scores[*chosen])) {
      *chosen = i;
    }
  }
  self->base.has_scores = true;
  self->costs.items[view->instances[*chosen]] +=
      self->base_cost + self->queue_cost * view->columns[BLIS_SIGNAL_QUEUE_DEPTH][*chosen] +
      self->pressure_cost * view->columns[BLIS_SIGNAL_KV_UTILIZATION][*chosen];
  if (q->request->wants_parts) {
    tell_costs(self);
  }
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  cost_router *self = state;
  blis_array_deinit(alloc, &self->costs);
  blis__routesim_free(alloc, state);
}

static const blis_router_ops ops = {.route = blis__routesim_route,
                                    .first_token = blis__routesim_first_token,
                                    .ended = blis__routesim_ended,
                                    .free = free_state};

static const blis_param_spec params_of[] = {
    BLIS__ROUTESIM_PARAMS,
    BLIS__NUMBER("base", 0, 1e9, 1, "", "cost of every decision",
                 BLIS__INTO(cost_router, base_cost)),
    BLIS__NUMBER("queue", 0, 1e9, 0.5, "", "cost of every request waiting there",
                 BLIS__INTO(cost_router, queue_cost)),
    BLIS__NUMBER("pressure", 0, 1e9, 2, "", "cost of a full KV cache, scaled by its utilisation",
                 BLIS__INTO(cost_router, pressure_cost)),
    BLIS__NUMBER("decay", 0, 1e9, 0.1, "1/s", "costs fall as exp(-decay x seconds); 0 = never",
                 BLIS__INTO(cost_router, decay_per_s))};

const blis_policy_entry blis__router_routesim_cost_escalation = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "routesim.cost_escalation",
    .aliases = "cost_escalation",
    .summary = "lowest cost; a decision adds base + queue x waiting + pressure "
               "x KV utilisation to its instance, and costs decay with time",
    .source = BLIS__ROUTESIM_SOURCE,
    BLIS__PARAMS(params_of),
    BLIS__ROUTESIM(cost_router, ops, blis__routesim_init, choose,
                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION)),
};
