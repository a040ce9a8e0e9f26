#include "policy/routesim/routesim.h"

blis_status blis__routesim_init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  blis__routesim *self = state;
  const blis__routesim_rule *rule = setup->entry->rule;
  self->alloc = *setup->alloc;
  self->choose = rule->choose;
  return BLIS_OK;
}

void blis__routesim_free(const blis_alloc *alloc, void *state) {
  blis__routesim *self = state;
  blis_array_deinit(alloc, &self->counters);
  blis_array_deinit(alloc, &self->loads);
  blis_array_deinit(alloc, &self->scores);
}

static double load_of(const blis__routesim *self, const blis_routing_view *view, size_t i) {
  double waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH][i];
  if (waiting >= self->max_queue_depth) {
    return INFINITY;
  }
  uint32_t instance = view->instances[i];
  return waiting + (self->counts_prefilling ? view->columns[BLIS_SIGNAL_BATCH_SIZE][i]
                                            : (double)self->counters.items[instance].decoding);
}

static blis_status look(blis__routesim *self, const blis_routing_view *view, bool *has_candidate) {
  BLIS_TRY(blis__load_counters_reserve(&self->counters, &self->alloc, view));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->loads, view->count));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->scores, view->count));
  *has_candidate = false;
  for (size_t i = 0; i < view->count; i++) {
    self->loads.items[i] = load_of(self, view, i);
    *has_candidate |= !blis__routesim_is_full(self, i);
  }
  return BLIS_OK;
}

blis_status blis__routesim_route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  blis__routesim *self = q->state;
  bool has_candidate;
  BLIS_TRY_MEM(look(self, view, &has_candidate), q->error);
  if (!has_candidate) {
    *decision = (blis_decision){.rejected = "no-candidate"};
    return BLIS_OK;
  }
  size_t chosen;
  self->has_scores = false;
  self->fact_count = 0;
  BLIS_TRY(self->choose(q, &chosen));
  blis__load_counters_add(&self->counters, request->ticket, view->instances[chosen], 0,
                          request->prompt_tokens);
  *decision = (blis_decision){.chosen = chosen};
  if (self->has_scores) {
    decision->score = self->scores.items[chosen];
    decision->scores = self->scores.items;
  }
  if (self->fact_count > 0) {
    decision->facts = self->facts;
    decision->fact_count = self->fact_count;
  }
  return BLIS_OK;
}

void blis__routesim_first_token(void *state, blis_ticket *ticket, uint32_t instance,
                                const blis_request_times *times) {
  (void)times;
  blis__routesim *self = state;
  blis__load_counters_first_token(&self->counters, ticket, instance);
}

void blis__routesim_ended(void *state, blis_ticket *ticket, uint32_t instance,
                          const blis_request_times *times) {
  (void)times;
  blis__routesim *self = state;
  blis__load_counters_ended(&self->counters, ticket, instance);
}

const blis_router_ops blis__routesim_ops = {.route = blis__routesim_route,
                                            .first_token = blis__routesim_first_token,
                                            .ended = blis__routesim_ended,
                                            .free = blis__routesim_free};

size_t blis__routesim_least_outstanding(const blis__routesim *self, const blis_routing_view *view) {
  size_t best = 0;
  for (size_t i = 1; i < view->count; i++) {
    if (self->loads.items[i] < self->loads.items[best]) {
      best = i;
    }
  }
  return best;
}
