/*
 * weighted_v04.c - routing policy weighted-v0.4: the formula that the scorer framework replaced
 * because it treated free memory as cache affinity.
 *
 * Score of a candidate:
 *
 *   score = cw free blocks / most free blocks
 *           + lw / (1 + waiting + running + pending)
 *
 * with cw + lw = 1. The first of the best candidates is chosen.
 */
#include "base/array.h"
#include "policy/contract/entry.h"

typedef struct weighted_v04 {
  blis_alloc alloc;
  double cache_weight;
  double load_weight;
  BLIS_ARRAY(double) scores;
  blis_tie tie;
} weighted_v04;

static double most_of(const double *values, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) {
    most = values[i] > most ? values[i] : most;
  }
  return most;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  weighted_v04 *self = q->state;
  BLIS_TRY_MEM(blis_array_reserve(&self->alloc, &self->scores, view->count), q->error);
  const double *free_blocks = view->columns[BLIS_SIGNAL_FREE_KV_BLOCKS];
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *running = view->columns[BLIS_SIGNAL_BATCH_SIZE];
  const double *pending = view->columns[BLIS_SIGNAL_PENDING];
  double most = most_of(free_blocks, view->count);
  double *scores = self->scores.items;
  for (size_t i = 0; i < view->count; i++) {
    double room = most > 0 ? free_blocks[i] / most : 0;
    double load = waiting[i] + running[i] + pending[i];
    scores[i] = self->cache_weight * room + self->load_weight * (1 / (1 + load));
  }
  size_t chosen = blis_tie_pick_max(&self->tie, scores, view);
  *decision = (blis_decision){.chosen = chosen, .score = scores[chosen], .scores = scores};
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  weighted_v04 *self = state;
  blis_array_deinit(alloc, &self->scores);
}

static const blis_router_ops ops = {.route = route, .free = free_state};

static const blis_param_spec params_of[] = {
    BLIS__NUMBER("cache_weight", 0, 1e9, 0.6, "", "of the free KV blocks",
                 BLIS__INTO(weighted_v04, cache_weight)),
    BLIS__NUMBER("load_weight", 0, 1e9, 0.4, "", "of the load",
                 BLIS__INTO(weighted_v04, load_weight)),
    BLIS__TIE_FIRST_PARAM,
};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  weighted_v04 *self = state;
  double sum = self->cache_weight + self->load_weight;
  if (!(sum > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy weighted-v0.4: cache_weight and "
                     "load_weight are both 0; expected at least one above 0");
  }
  self->alloc = *setup->alloc;
  self->cache_weight /= sum;
  self->load_weight /= sum;
  blis_setup_tie(setup, &self->tie);
  return BLIS_OK;
}

const blis_policy_entry blis__router_weighted_v04 = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "weighted-v0.4",
    .summary = "highest 0.6 (free KV blocks / most free) + 0.4 / (1 + load); "
               "for regression studies",
    .source = "BLIS (Go) v0.4.0",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(weighted_v04),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_FREE_KV_BLOCKS) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING),
    .init = init,
};
