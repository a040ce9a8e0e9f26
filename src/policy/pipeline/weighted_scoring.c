/*
 * weighted_scoring.c - routing policy weighted-scoring, a template of the
 * macro plan, which names its parameters and gives no formula:
 *
 *   score = wc prefix-affinity + wl load-balance + wq queue-depth
 *           + bonus [every full block of the prompt is cached]
 *
 * with weights normalised to sum 1. The bonus comes on top of them, so this is
 * not a weighted router.
 */
#include "base/array.h"
#include "policy/registry.h"

enum { SCORER_COUNT = 3, AFFINITY = 0 };

typedef struct weighted_scoring {
  blis_alloc alloc;
  blis_scorer scorers[SCORER_COUNT]; /* the first one is prefix-affinity */
  double weights[SCORER_COUNT];
  double bonus;
  BLIS_ARRAY(double) terms; /* of one scorer */
  BLIS_ARRAY(double) scores;
  blis_tie tie;
} weighted_scoring;

static blis_status score_all(weighted_scoring *self,
                             const blis_routing_request *request,
                             const blis_routing_view *view, blis_error *error) {
  double *terms = self->terms.items;
  double *scores = self->scores.items;
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    const blis_scorer *scorer = &self->scorers[k];
    BLIS_TRY(scorer->ops->score(scorer->state, request, view, terms, error));
    for (size_t i = 0; i < view->count; i++) {
      double bonus = k == AFFINITY && terms[i] == 1 ? self->bonus : 0;
      scores[i] =
          (k == 0 ? 0 : scores[i]) + self->weights[k] * terms[i] + bonus;
    }
  }
  return BLIS_OK;
}

static blis_status route(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  weighted_scoring *self = state;
  BLIS_TRY_MEM(blis_array_reserve(&self->alloc, &self->terms, view->count),
               error);
  BLIS_TRY_MEM(blis_array_reserve(&self->alloc, &self->scores, view->count),
               error);
  BLIS_TRY(score_all(self, request, view, error));
  size_t chosen = blis_tie_pick_max(&self->tie, self->scores.items, view);
  *decision = (blis_decision){.chosen = chosen,
                              .score = self->scores.items[chosen],
                              .scores = self->scores.items};
  const blis_scorer *affinity = &self->scorers[AFFINITY];
  return affinity->ops->observe(affinity->state, request, view, chosen, error);
}

static void free_state(const blis_alloc *alloc, void *state) {
  weighted_scoring *self = state;
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    blis_scorer_free(&self->scorers[k]);
  }
  blis_array_deinit(alloc, &self->terms);
  blis_array_deinit(alloc, &self->scores);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_router_ops ops = {.route = route, .free = free_state};

#define WEIGHT(given_name, value, of)                                          \
  {                                                                            \
    .name = (given_name), .kind = BLIS_PARAM_NUMBER, .minimum = 0,             \
    .maximum = 1e9, .fallback = (value), .unit = "",                           \
    .summary = "weight of " of                                                 \
  }

enum { PARAM_COUNT = 5 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    WEIGHT("cache_affinity_weight", 0.6, "prefix-affinity"),
    WEIGHT("load_balance_weight", 0.3, "load-balance"),
    WEIGHT("queue_depth_weight", 0.1, "queue-depth"),
    {.name = "prefix_match_bonus",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 0.5,
     .unit = "",
     .summary = "added where every full block of the prompt is cached"},
    BLIS__TIE_PARAM,
};

static blis_status read_weights(weighted_scoring *self,
                                const blis_params *params, blis_error *error) {
  double sum = 0;
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    self->weights[k] =
        blis_params_number(params, params_of, PARAM_COUNT, params_of[k].name);
    sum += self->weights[k];
  }
  if (!(sum > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy weighted-scoring: all weights are 0, "
                     "expected one or more above 0");
  }
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    self->weights[k] /= sum;
  }
  self->bonus =
      blis_params_number(params, params_of, PARAM_COUNT, "prefix_match_bonus");
  return BLIS_OK;
}

static blis_status make_parts(weighted_scoring *self, const blis_params *params,
                              const blis_policy_context *context,
                              blis_error *error) {
  static const char *const names[SCORER_COUNT] = {
      "prefix-affinity", "load-balance", "queue-depth"};
  BLIS_TRY(read_weights(self, params, error));
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    BLIS_TRY(blis_scorer_create(&self->alloc, names[k], NULL, context,
                                &self->scorers[k], error));
  }
  blis_tie_init(&self->tie,
                blis__tie_param(params, params_of, PARAM_COUNT, context),
                context->seed, "router");
  return BLIS_OK;
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_router *router, blis_error *error) {
  weighted_scoring *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->alloc = *alloc;
  blis_status status = make_parts(self, params, context, error);
  if (status != BLIS_OK) {
    free_state(alloc, self);
    return status;
  }
  blis_signal_set needs = 0;
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    needs |= self->scorers[k].needs;
  }
  *router = (blis_router){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = needs,
                          .name = "weighted-scoring"};
  return BLIS_OK;
}

const blis_router_entry blis__router_weighted_scoring = {
    .name = "weighted-scoring",
    .aliases = "",
    .summary = "highest 0.6 prefix-affinity + 0.3 load-balance + 0.1 "
               "queue-depth, and 0.5 more where the whole prompt is cached",
    .source = "BLIS Evolutionary Policy Optimization: Macro-Level "
              "Implementation Plan; the formula is ours",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};
