#include "routing/weighted.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "routing/picker.h"

typedef struct weighted {
  blis_weighted_item *items; /* weights are normalised */
  size_t count;
  BLIS_ARRAY(double) scores;     /* of one scorer */
  BLIS_ARRAY(double) composites; /* per candidate */
  blis_picker picker;
  blis_alloc alloc;
} weighted;

static blis_status fail_nan(const blis_scorer *scorer, const double *scores,
                            const blis_routing_request *request,
                            const blis_routing_view *view, blis_error *error) {
  size_t i = 0;
  while (!isnan(scores[i])) {
    i++;
  }
  return blis_fail(error, BLIS_ERR_POLICY,
                   "scorer %s: the score of %s for request_%" PRId64
                   " at %" PRId64 " us is NaN; scores are numbers from 0 to 1",
                   scorer->name, view->ids[i], request->number, view->now_us);
}

/* Adds clamped scores; false when one of them is NaN. */
static bool add_scores(const double *scores, double weight, size_t count,
                       double *composites) {
  bool has_nan = false;
  for (size_t i = 0; i < count; i++) {
    double score = scores[i];
    has_nan |= score != score;
    score = score < 0 ? 0 : score;
    score = score > 1 ? 1 : score;
    composites[i] += score * weight;
  }
  return !has_nan;
}

static blis_status sum_scores(weighted *self,
                              const blis_routing_request *request,
                              const blis_routing_view *view,
                              blis_error *error) {
  double *composites = self->composites.items;
  double *scores = self->scores.items;
  memset(composites, 0, view->count * sizeof *composites);
  for (size_t i = 0; i < self->count; i++) {
    const blis_scorer *scorer = &self->items[i].scorer;
    BLIS_TRY(scorer->ops->score(scorer->state, request, view, scores, error));
    if (!add_scores(scores, self->items[i].weight, view->count, composites)) {
      return fail_nan(scorer, scores, request, view, error);
    }
  }
  return BLIS_OK;
}

static blis_status observe_all(const weighted *self,
                               const blis_routing_request *request,
                               const blis_routing_view *view, size_t chosen,
                               blis_error *error) {
  for (size_t i = 0; i < self->count; i++) {
    const blis_scorer *scorer = &self->items[i].scorer;
    if (scorer->ops->observe != NULL) {
      BLIS_TRY(
          scorer->ops->observe(scorer->state, request, view, chosen, error));
    }
  }
  return BLIS_OK;
}

static blis_status route(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  weighted *self = state;
  if (blis_array_reserve(&self->alloc, &self->scores, view->count) != BLIS_OK ||
      blis_array_reserve(&self->alloc, &self->composites, view->count) !=
          BLIS_OK) {
    return blis_fail_nomem(error);
  }
  BLIS_TRY(sum_scores(self, request, view, error));
  size_t chosen = 0;
  if (blis_picker_pick(&self->picker, request, view, self->composites.items,
                       &chosen) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  *decision = (blis_decision){.chosen = chosen,
                              .score = self->composites.items[chosen],
                              .scores = self->composites.items};
  return observe_all(self, request, view, chosen, error);
}

static void free_scorers(blis_weighted_item *items, size_t count) {
  for (size_t i = 0; i < count; i++) {
    blis_scorer_free(&items[i].scorer);
  }
}

static void free_state(const blis_alloc *alloc, void *state) {
  weighted *self = state;
  free_scorers(self->items, self->count);
  blis_alloc_free(alloc, self->items, self->count * sizeof *self->items);
  blis_array_deinit(alloc, &self->scores);
  blis_array_deinit(alloc, &self->composites);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_router_ops ops = {.route = route, .free = free_state};

static blis_status check_items(const blis_weighted_item *items, size_t count,
                               blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    const char *name = items[i].scorer.name;
    double weight = items[i].weight;
    if (!(weight > 0) || isinf(weight)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "scorer %s: weight is %g, expected a finite number > 0",
                       name, weight);
    }
    for (size_t j = 0; j < i && name[0] != '\0'; j++) {
      if (strcmp(name, items[j].scorer.name) == 0) {
        return blis_fail(error, BLIS_ERR_INVALID,
                         "scorer %s: listed twice; each scorer may be listed "
                         "once",
                         name);
      }
    }
  }
  return BLIS_OK;
}

/* What the scorers read, and weights that sum to 1. */
static blis_signal_set normalise(blis_weighted_item *items, size_t count) {
  double sum = 0;
  blis_signal_set needs = 0;
  for (size_t i = 0; i < count; i++) {
    sum += items[i].weight;
    needs |= items[i].scorer.needs;
  }
  for (size_t i = 0; i < count; i++) {
    items[i].weight /= sum;
  }
  return needs;
}

const blis_param_spec blis__weighted_params[BLIS__WEIGHTED_PARAM_COUNT] = {
    {.name = "tie",
     .kind = BLIS_PARAM_CHOICE,
     .choices = BLIS_TIE_CHOICES "|stable-hash",
     .unit = "",
     .summary = "which of equally good ones (profile go-blis: random)"},
    {.name = "picker",
     .kind = BLIS_PARAM_CHOICE,
     .choices = BLIS_PICKER_CHOICES,
     .unit = "",
     .summary = "how one candidate is taken by the sums"},
    {.name = "temperature",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 1,
     .unit = "",
     .summary = "of picker softmax: 0 takes the best, a high one any"},
    {.name = "exploration",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1,
     .fallback = 0.05,
     .unit = "0 to 1",
     .summary = "of picker epsilon-greedy: share of decisions at random"},
};

static double number_of(const blis_params *params, const char *name) {
  return blis_params_number(params, blis__weighted_params,
                            BLIS__WEIGHTED_PARAM_COUNT, name);
}

static int choice_of(const blis_params *params, const char *name) {
  return blis_params_choice(params, blis__weighted_params,
                            BLIS__WEIGHTED_PARAM_COUNT, name);
}

static void init_picker(blis_picker *picker, const blis_params *params,
                        const blis_policy_context *context) {
  bool is_random = context->go_blis && blis_params_find(params, "tie") == NULL;
  int tie = is_random ? BLIS_TIE_RANDOM : choice_of(params, "tie");
  picker->kind = (blis_picker_kind)choice_of(params, "picker");
  picker->has_stable_ties = tie == BLIS_TIE_RULE_COUNT;
  blis_tie_rule rule =
      picker->has_stable_ties ? BLIS_TIE_LOWEST_ID : (blis_tie_rule)tie;
  blis_tie_init(&picker->tie, rule, context->seed, "router");
  picker->stable = BLIS_STABLE_HASH_DEFAULT;
  picker->temperature = number_of(params, "temperature");
  picker->epsilon = number_of(params, "exploration");
  blis_random_init_named(&picker->random, context->seed, "policy/weighted");
}

blis_status blis_weighted_new(const blis_alloc *alloc,
                              blis_weighted_item *items, size_t count,
                              const blis_params *params,
                              const blis_policy_context *context,
                              blis_router *router, blis_error *error) {
  BLIS_DCHECK(count >= 1);
  blis_status status = blis_params_check(params, blis__weighted_params,
                                         BLIS__WEIGHTED_PARAM_COUNT,
                                         "routing policy weighted", error);
  if (status == BLIS_OK) {
    status = check_items(items, count, error);
  }
  weighted *self = NULL;
  blis_weighted_item *kept = NULL;
  if (status == BLIS_OK) {
    self = blis_alloc_zeroed(alloc, 1, sizeof *self);
    kept = blis_alloc_new(alloc, count * sizeof *kept);
    status = self == NULL || kept == NULL ? blis_fail_nomem(error) : BLIS_OK;
  }
  if (status != BLIS_OK) {
    free_scorers(items, count);
    blis_alloc_free(alloc, self, sizeof *self);
    blis_alloc_free(alloc, kept, count * sizeof *kept);
    return status;
  }
  memcpy(kept, items, count * sizeof *kept);
  self->items = kept;
  self->count = count;
  self->alloc = *alloc;
  init_picker(&self->picker, params, context);
  *router = (blis_router){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = normalise(kept, count),
                          .name = "weighted"};
  return BLIS_OK;
}
