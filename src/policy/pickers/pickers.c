/*
 * pickers.c - the built-in pickers.
 *
 * One state serves them all. Ties of the best score fall by the stream
 * "router" where they are random, as in the reference simulator; what else is
 * random comes from the stream "policy/<picker>".
 */
#include <string.h>

#include "policy/contract/stable_hash.h"
#include "policy/contract/tie.h"
#include "policy/pickers/pick_rules.h"
#include "policy/registry.h"

typedef struct picker {
  blis_tie tie;
  bool has_stable_ties; /* stable instead of tie.rule */
  blis_stable_hash stable;
  double temperature; /* of softmax, >= 0 */
  double exploration; /* of epsilon-greedy, 0 to 1 */
  blis_random random;
} picker;

static blis_status pick_best(void *state, const blis_routing_request *request,
                             const blis_routing_view *view,
                             const double *scores, size_t *chosen,
                             blis_error *error) {
  (void)error;
  picker *self = state;
  *chosen = self->has_stable_ties
                ? blis_stable_hash_pick(&self->stable, request, view, scores)
                : blis_tie_pick_max(&self->tie, scores, view);
  return BLIS_OK;
}

static blis_status pick_random(void *state, const blis_routing_request *request,
                               const blis_routing_view *view,
                               const double *scores, size_t *chosen,
                               blis_error *error) {
  (void)request, (void)scores, (void)error;
  picker *self = state;
  *chosen = blis_pick_random(&self->random, view->count);
  return BLIS_OK;
}

static blis_status pick_power_of_two(void *state,
                                     const blis_routing_request *request,
                                     const blis_routing_view *view,
                                     const double *scores, size_t *chosen,
                                     blis_error *error) {
  (void)request, (void)error;
  picker *self = state;
  *chosen = blis_pick_power_of_two(&self->random, scores, view->count);
  return BLIS_OK;
}

static blis_status pick_softmax(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view,
                                const double *scores, size_t *chosen,
                                blis_error *error) {
  (void)request, (void)error;
  picker *self = state;
  *chosen =
      blis_pick_softmax(&self->random, scores, view->count, self->temperature);
  return BLIS_OK;
}

static blis_status pick_weighted_random(void *state,
                                        const blis_routing_request *request,
                                        const blis_routing_view *view,
                                        const double *scores, size_t *chosen,
                                        blis_error *error) {
  (void)request, (void)error;
  picker *self = state;
  *chosen = blis_pick_weighted_random(&self->random, scores, view->count);
  return BLIS_OK;
}

static blis_status pick_greedily(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view,
                                 const double *scores, size_t *chosen,
                                 blis_error *error) {
  picker *self = state;
  if (view->count > 1 &&
      blis_random_float64(&self->random) < self->exploration) {
    *chosen = blis_pick_random(&self->random, view->count);
    return BLIS_OK;
  }
  return pick_best(state, request, view, scores, chosen, error);
}

static void free_state(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(picker));
}

/* A rule, or BLIS_TIE_RULE_COUNT for stable-hash. */
static int tie_of(const blis_picker_entry *entry, const blis_params *params,
                  const blis_policy_context *context) {
  static const blis_tie_rule random_first[] = {
      BLIS_TIE_RANDOM, BLIS_TIE_LOWEST_ID, BLIS_TIE_FIRST, BLIS_TIE_LAST,
      BLIS_TIE_ROTATE};
  if (context->go_blis && blis_params_find(params, "tie") == NULL) {
    return BLIS_TIE_RANDOM;
  }
  int choice =
      blis_params_choice(params, entry->params, entry->param_count, "tie");
  return entry == &blis__picker_max_score ? (int)random_first[choice] : choice;
}

static void read_tie(picker *self, const blis_picker_entry *entry,
                     const blis_params *params,
                     const blis_policy_context *context) {
  int tie = tie_of(entry, params, context);
  self->has_stable_ties = tie == BLIS_TIE_RULE_COUNT;
  self->stable = BLIS_STABLE_HASH_DEFAULT;
  blis_tie_rule rule =
      self->has_stable_ties ? BLIS_TIE_LOWEST_ID : (blis_tie_rule)tie;
  blis_tie_init(&self->tie, rule, context->seed, "router");
}

static bool has_param(const blis_picker_entry *entry, const char *name) {
  for (size_t i = 0; i < entry->param_count; i++) {
    if (strcmp(entry->params[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

static double number_of(const blis_picker_entry *entry,
                        const blis_params *params, const char *name) {
  return has_param(entry, name) ? blis_params_number(params, entry->params,
                                                     entry->param_count, name)
                                : 0;
}

static blis_status make(const blis_alloc *alloc, const blis_picker_entry *entry,
                        const blis_picker_ops *ops, const blis_params *params,
                        const blis_policy_context *context, blis_picker *made,
                        blis_error *error) {
  picker *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  if (has_param(entry, "tie")) {
    read_tie(self, entry, params, context);
  }
  self->temperature = number_of(entry, params, "temperature");
  self->exploration = number_of(entry, params, "exploration");
  blis_policy_random_init(&self->random, context->seed, entry->name);
  *made = (blis_picker){
      .ops = ops, .state = self, .alloc = *alloc, .name = entry->name};
  return BLIS_OK;
}

/* The operations and the creator of a picker. */
#define PICKER(name, function)                                                 \
  static const blis_picker_ops name##_ops = {.pick = (function),               \
                                             .free = free_state};              \
  static blis_status create_##name(const blis_alloc *alloc,                    \
                                   const blis_params *params,                  \
                                   const blis_policy_context *context,         \
                                   blis_picker *made, blis_error *error) {     \
    return make(alloc, &blis__picker_##name, &name##_ops, params, context,     \
                made, error);                                                  \
  }

PICKER(best, pick_best)
PICKER(random, pick_random)
PICKER(power_of_two, pick_power_of_two)
PICKER(softmax, pick_softmax)
PICKER(epsilon_greedy, pick_greedily)
PICKER(weighted_random, pick_weighted_random)
PICKER(max_score, pick_best)

#define TIE_PARAM                                                              \
  {                                                                            \
    .name = "tie", .kind = BLIS_PARAM_CHOICE,                                  \
    .choices = BLIS_TIE_CHOICES "|stable-hash", .unit = "",                    \
    .summary = "which of equally good ones (profile go-blis: random)"          \
  }

static const blis_param_spec best_params[] = {TIE_PARAM};

static const blis_param_spec softmax_params[] = {
    {.name = "temperature",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 1,
     .unit = "",
     .summary = "0 takes the best, a high one any"},
};

static const blis_param_spec epsilon_greedy_params[] = {
    {.name = "exploration",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1,
     .fallback = 0.05,
     .unit = "0 to 1",
     .summary = "share of decisions at random"},
    TIE_PARAM,
};

static const blis_param_spec max_score_params[] = {
    {.name = "tie",
     .kind = BLIS_PARAM_CHOICE,
     .choices = BLIS_TIE_CHOICES_RANDOM,
     .unit = "",
     .summary = "which of equally good ones"},
};

const blis_picker_entry blis__picker_best = {
    .name = "best",
    .aliases = "",
    .summary = "the highest score",
    .source = "Composable Scorer Framework for Weighted Routing",
    .params = best_params,
    .param_count = 1,
    .create = create_best,
};

const blis_picker_entry blis__picker_random = {
    .name = "random",
    .aliases = "llm-d.random-picker",
    .summary = "any candidate, each as likely",
    .source = "llm-d router ebab6879, random-picker",
    .create = create_random,
};

const blis_picker_entry blis__picker_power_of_two = {
    .name = "power-of-two",
    .aliases = "",
    .summary = "the higher score of two random candidates, the first of them "
               "when they are equal",
    .source = "Mitzenmacher, The Power of Two Choices in Randomized Load "
              "Balancing, 2001",
    .create = create_power_of_two,
};

const blis_picker_entry blis__picker_softmax = {
    .name = "softmax",
    .aliases = "",
    .summary = "with probability proportional to exp((score - max) / ((max - "
               "min) temperature))",
    .source = "NVIDIA Dynamo, lib/kv-router 07a6c9ce",
    .params = softmax_params,
    .param_count = 1,
    .create = create_softmax,
};

const blis_picker_entry blis__picker_epsilon_greedy = {
    .name = "epsilon-greedy",
    .aliases = "",
    .summary = "now and then any candidate, else the highest score",
    .source = "Sutton and Barto, Reinforcement Learning, 2.2",
    .params = epsilon_greedy_params,
    .param_count = 2,
    .create = create_epsilon_greedy,
};

const blis_picker_entry blis__picker_weighted_random = {
    .name = "weighted-random",
    .aliases = "llm-d.weighted-random-picker",
    .summary = "with probability proportional to the score; any one when all "
               "are 0",
    .source = "llm-d router ebab6879, weighted-random-picker; Efraimidis and "
              "Spirakis, Weighted random sampling with a reservoir, 2006",
    .create = create_weighted_random,
};

const blis_picker_entry blis__picker_max_score = {
    .name = "llm-d.max-score-picker",
    .aliases = "",
    .summary = "the highest score, and any one of the equally good",
    .source = "llm-d router ebab6879, max-score-picker",
    .params = max_score_params,
    .param_count = 1,
    .create = create_max_score,
};
