/*
 * weighted_scoring.c - routing policy weighted-scoring, a template of the macro-level plan, which
 * lists its parameters but defines no formula.
 *
 * Score of a candidate:
 *
 *   score = wc prefix-affinity + wl load-balance + wq queue-depth
 *           + bonus [every full block of the prompt is cached]
 *
 * The weights are normalized to sum to 1. The bonus is added on top, so this is not a weighted
 * router.
 */
#include "base/array.h"
#include "policy/pipeline/pieces.h"

enum { SCORER_COUNT = 3, AFFINITY = 0 };

typedef struct weighted_scoring {
  blis_alloc alloc;
  blis_scorer scorers[SCORER_COUNT]; /* the first one is prefix-affinity */
  double weights[SCORER_COUNT];
  double bonus;
  BLIS_ARRAY(double) terms; /* scores of one scorer */
  BLIS_ARRAY(double) scores;
  blis_tie tie;
} weighted_scoring;

static blis_status score_all(weighted_scoring *self, const blis_routing_request *request,
                             const blis_routing_view *view, blis_error *error) {
  double *terms = self->terms.items;
  double *scores = self->scores.items;
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    const blis_scorer *scorer = &self->scorers[k];
    BLIS_TRY(scorer->ops->score(&(blis_question){scorer->state, request, view, error}, terms));
    for (size_t i = 0; i < view->count; i++) {
      double bonus = k == AFFINITY && terms[i] == 1 ? self->bonus : 0;
      scores[i] = (k == 0 ? 0 : scores[i]) + self->weights[k] * terms[i] + bonus;
    }
  }
  return BLIS_OK;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  weighted_scoring *self = q->state;
  BLIS_TRY_MEM(blis_array_reserve(&self->alloc, &self->terms, view->count), q->error);
  BLIS_TRY_MEM(blis_array_reserve(&self->alloc, &self->scores, view->count), q->error);
  BLIS_TRY(score_all(self, q->request, view, q->error));
  size_t chosen = blis_tie_pick_max(&self->tie, self->scores.items, view);
  *decision = (blis_decision){
      .chosen = chosen, .score = self->scores.items[chosen], .scores = self->scores.items};
  const blis_scorer *affinity = &self->scorers[AFFINITY];
  return affinity->ops->observe(&(blis_question){affinity->state, q->request, view, q->error},
                                chosen);
}

static blis_status learn(const blis_question *q, size_t chosen) {
  weighted_scoring *self = q->state;
  const blis_scorer *affinity = &self->scorers[AFFINITY];
  return affinity->ops->observe(&(blis_question){affinity->state, q->request, q->view, q->error},
                                chosen);
}

static void free_state(const blis_alloc *alloc, void *state) {
  weighted_scoring *self = state;
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    blis_scorer_free(&self->scorers[k]);
  }
  blis_array_deinit(alloc, &self->terms);
  blis_array_deinit(alloc, &self->scores);
}

static const blis_router_ops ops = {.route = route, .learn = learn, .free = free_state};

#define WEIGHT(given_name, value, of, place)                                                       \
  BLIS__NUMBER(given_name, 0, 1e9, value, "", "weight of " of,                                     \
               BLIS__INTO(weighted_scoring, weights[place]))

static const blis_param_spec params_of[] = {
    WEIGHT("cache_affinity_weight", 0.6, "prefix-affinity", 0),
    WEIGHT("load_balance_weight", 0.3, "load-balance", 1),
    WEIGHT("queue_depth_weight", 0.1, "queue-depth", 2),
    BLIS__NUMBER("prefix_match_bonus", 0, 1e9, 0.5, "",
                 "bonus where every full block of the prompt is cached",
                 BLIS__INTO(weighted_scoring, bonus)),
    BLIS__TIE_PARAM,
};

static blis_status normalise(double *weights, blis_error *error) {
  double sum = 0;
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    sum += weights[k];
  }
  if (!(sum > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy weighted-scoring: all weights are 0; "
                     "expected at least one above 0");
  }
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    weights[k] /= sum;
  }
  return BLIS_OK;
}

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  static const char *const names[SCORER_COUNT] = {"prefix-affinity", "load-balance", "queue-depth"};
  weighted_scoring *self = state;
  self->alloc = *setup->alloc;
  BLIS_TRY(normalise(self->weights, error));
  for (size_t k = 0; k < SCORER_COUNT; k++) {
    BLIS_TRY(
        blis_scorer_create(setup->alloc, names[k], NULL, setup->context, &self->scorers[k], error));
    setup->needs |= self->scorers[k].needs;
  }
  blis_setup_router_tie(setup, &self->tie);
  return BLIS_OK;
}

const blis_policy_entry blis__router_weighted_scoring = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "weighted-scoring",
    .summary = "highest 0.6 prefix-affinity + 0.3 load-balance + 0.1 "
               "queue-depth, plus 0.5 where the whole prompt is cached",
    .source = "BLIS Evolutionary Policy Optimization: Macro-Level "
              "Implementation Plan; the formula is ours",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(weighted_scoring),
    .init = init,
};
