/*
 * pickers.c - the built-in pickers.
 *
 * One state serves them all. Random tie breaks among the best scores use the stream "router", as in
 * the reference simulator. All other random draws use the stream "policy/<picker>".
 */
#include "policy/contract/entry.h"
#include "policy/contract/stable_hash.h"
#include "policy/pickers/pick_rules.h"

typedef struct picker {
  blis_tie tie;
  bool has_stable_ties; /* breaks ties with stable instead of tie.rule */
  blis_stable_hash stable;
  double temperature; /* used by softmax, >= 0 */
  double exploration; /* used by epsilon-greedy, 0 to 1 */
  blis_random random;
} picker;

static blis_status pick_best(const blis_question *q, const double *scores, size_t *chosen) {
  const blis_routing_view *view = q->view;
  picker *self = q->state;
  *chosen = self->has_stable_ties ? blis_stable_hash_pick(&self->stable, q->request, view, scores)
                                  : blis_tie_pick_max(&self->tie, scores, view);
  return BLIS_OK;
}

static blis_tie *tie_of_best(void *state) {
  picker *self = state;
  return self->has_stable_ties ? NULL : &self->tie;
}

static blis_status pick_random(const blis_question *q, const double *scores, size_t *chosen) {
  (void)scores;
  picker *self = q->state;
  *chosen = blis_pick_random(&self->random, q->view->count);
  return BLIS_OK;
}

static blis_status pick_power_of_two(const blis_question *q, const double *scores, size_t *chosen) {
  picker *self = q->state;
  *chosen = blis_pick_power_of_two(&self->random, scores, q->view->count);
  return BLIS_OK;
}

static blis_status pick_softmax(const blis_question *q, const double *scores, size_t *chosen) {
  picker *self = q->state;
  *chosen = blis_pick_softmax(&self->random, scores, q->view->count, self->temperature);
  return BLIS_OK;
}

static blis_status pick_weighted_random(const blis_question *q, const double *scores,
                                        size_t *chosen) {
  picker *self = q->state;
  *chosen = blis_pick_weighted_random(&self->random, scores, q->view->count);
  return BLIS_OK;
}

static blis_status pick_greedily(const blis_question *q, const double *scores, size_t *chosen) {
  const blis_routing_view *view = q->view;
  picker *self = q->state;
  if (view->count > 1 && blis_random_float64(&self->random) < self->exploration) {
    *chosen = blis_pick_random(&self->random, view->count);
    return BLIS_OK;
  }
  return pick_best(q, scores, chosen);
}

static blis_status init_tie(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  picker *self = state;
  blis_setup_router_tie(setup, &self->tie);
  self->has_stable_ties = self->tie.rule == BLIS_TIE_RULE_COUNT;
  self->stable = BLIS_STABLE_HASH_DEFAULT;
  blis_setup_random(setup, &self->random);
  return BLIS_OK;
}

static blis_status init_random(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  blis_setup_random(setup, &((picker *)state)->random);
  return BLIS_OK;
}

/* Initializers of an entry; the variable arguments initialize its operations. */
#define PICKER(init_function, ...)                                                                 \
  .kind = BLIS_POLICY_PICKER, .ops = &(const blis_picker_ops){__VA_ARGS__},                        \
  .state_size = sizeof(picker), .init = (init_function)

#define TIE_PARAM                                                                                  \
  BLIS__CHOICE("tie", BLIS_TIE_CHOICES "|stable-hash", "tie break (profile go-blis: random)")

static const blis_param_spec best_params[] = {TIE_PARAM};

static const blis_param_spec softmax_params[] = {
    BLIS__NUMBER("temperature", 0, 1e9, 1, "", "0 = always the best; higher is more random",
                 BLIS__INTO(picker, temperature)),
};

static const blis_param_spec epsilon_greedy_params[] = {
    BLIS__NUMBER("exploration", 0, 1, 0.05, "0 to 1", "share of decisions at random",
                 BLIS__INTO(picker, exploration)),
    TIE_PARAM,
};

static const blis_param_spec max_score_params[] = {
    BLIS__CHOICE("tie", BLIS_TIE_CHOICES_RANDOM, "tie break"),
};

const blis_policy_entry blis__picker_best = {
    PICKER(init_tie, .pick = pick_best, .tie = tie_of_best),
    .name = "best",
    .summary = "the highest score",
    .source = "Composable Scorer Framework for Weighted Routing",
    BLIS__PARAMS(best_params),
};

const blis_policy_entry blis__picker_random = {
    PICKER(init_random, .pick = pick_random),
    .name = "random",
    .aliases = "llm-d.random-picker",
    .summary = "any candidate with equal probability",
    .source = "llm-d router ebab6879, random-picker",
};

const blis_policy_entry blis__picker_power_of_two = {
    PICKER(init_random, .pick = pick_power_of_two),
    .name = "power-of-two",
    .summary = "the higher score of two random candidates, the first in a tie",
    .source = "Mitzenmacher, The Power of Two Choices in Randomized Load "
              "Balancing, 2001",
};

const blis_policy_entry blis__picker_softmax = {
    PICKER(init_random, .pick = pick_softmax),
    .name = "softmax",
    .summary = "with probability proportional to exp((score - max) / ((max - "
               "min) temperature))",
    .source = "NVIDIA Dynamo, lib/kv-router 07a6c9ce",
    BLIS__PARAMS(softmax_params),
};

const blis_policy_entry blis__picker_epsilon_greedy = {
    PICKER(init_tie, .pick = pick_greedily),
    .name = "epsilon-greedy",
    .summary = "occasionally any candidate, else the highest score",
    .source = "Sutton and Barto, Reinforcement Learning, 2.2",
    BLIS__PARAMS(epsilon_greedy_params),
};

const blis_policy_entry blis__picker_weighted_random = {
    PICKER(init_random, .pick = pick_weighted_random),
    .name = "weighted-random",
    .aliases = "llm-d.weighted-random-picker",
    .summary = "with probability proportional to the score; any candidate if "
               "all are 0",
    .source = "llm-d router ebab6879, weighted-random-picker; Efraimidis and "
              "Spirakis, Weighted random sampling with a reservoir, 2006",
};

const blis_policy_entry blis__picker_max_score = {
    PICKER(init_tie, .pick = pick_best, .tie = tie_of_best),
    .name = "llm-d.max-score-picker",
    .summary = "the highest score, ties at random",
    .source = "llm-d router ebab6879, max-score-picker",
    BLIS__PARAMS(max_score_params),
};
