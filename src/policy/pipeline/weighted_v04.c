/*
 * weighted_v04.c - routing policy weighted-v0.4: the formula that the scorer
 * framework replaced, because it takes free memory for cache affinity.
 *
 *   score = cw free blocks / most free blocks
 *           + lw / (1 + waiting + running + pending)
 *
 * with cw + lw = 1. The first of the best is taken.
 */
#include "base/array.h"
#include "policy/contract/policy.h"

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

static blis_status route(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  (void)request;
  weighted_v04 *self = state;
  BLIS_TRY_MEM(blis_array_reserve(&self->alloc, &self->scores, view->count),
               error);
  const double *free_blocks = view->columns[BLIS_SIGNAL_FREE_KV_BLOCKS];
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *running = view->columns[BLIS_SIGNAL_BATCH_SIZE];
  const double *pending = view->columns[BLIS_SIGNAL_PENDING];
  double most = most_of(free_blocks, view->count);
  double *scores = self->scores.items;
  for (size_t i = 0; i < view->count; i++) {
    double room = most > 0 ? free_blocks[i] / most : 0;
    double load = waiting[i] + running[i] + pending[i];
    scores[i] =
        self->cache_weight * room + self->load_weight * (1 / (1 + load));
  }
  size_t chosen = blis_tie_pick_max(&self->tie, scores, view);
  *decision = (blis_decision){
      .chosen = chosen, .score = scores[chosen], .scores = scores};
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  weighted_v04 *self = state;
  blis_array_deinit(alloc, &self->scores);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_router_ops ops = {.route = route, .free = free_state};

enum { PARAM_COUNT = 3 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    {.name = "cache_weight",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 0.6,
     .unit = "",
     .summary = "of the free KV blocks"},
    {.name = "load_weight",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 0.4,
     .unit = "",
     .summary = "of the load"},
    BLIS__TIE_FIRST_PARAM,
};

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_router *router, blis_error *error) {
  double cache =
      blis_params_number(params, params_of, PARAM_COUNT, "cache_weight");
  double load =
      blis_params_number(params, params_of, PARAM_COUNT, "load_weight");
  if (!(cache + load > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy weighted-v0.4: cache_weight and "
                     "load_weight are 0, expected one of them above 0");
  }
  weighted_v04 *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->alloc = *alloc;
  self->cache_weight = cache / (cache + load);
  self->load_weight = load / (cache + load);
  blis_tie_rule rule = blis__tie_first_param(params, params_of, PARAM_COUNT);
  blis_tie_init_of(&self->tie, rule, context->seed, "weighted-v0.4");
  *router = (blis_router){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_FREE_KV_BLOCKS) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE) |
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING),
                          .name = "weighted-v0.4"};
  return BLIS_OK;
}

const blis_router_entry blis__router_weighted_v04 = {
    .name = "weighted-v0.4",
    .aliases = "",
    .summary = "highest 0.6 (free KV blocks / most free) + 0.4 / (1 + load); "
               "for regression studies",
    .source = "BLIS (Go) v0.4.0",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};
