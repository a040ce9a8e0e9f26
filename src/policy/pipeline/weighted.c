#include "policy/pipeline/weighted.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "policy/contract/narrowed.h"
#include "policy/contract/tie.h"
#include "policy/pipeline/pieces.h"
#include "policy/pipeline/weighted_search.h"

typedef struct weighted {
  blis_filter *filters;
  size_t filter_count;
  blis_weighted_item *items; /* weights are normalized */
  size_t count;
  blis__weighted_search search;
  blis__narrowed narrowed;       /* candidates that the filters keep */
  BLIS_ARRAY(bool) keep;         /* result of one filter */
  BLIS_ARRAY(double) scores;     /* scores of one scorer */
  BLIS_ARRAY(double) composites; /* one per remaining candidate */
  BLIS_ARRAY(double) spread;     /* composite scores, one per candidate */
  BLIS_ARRAY(blis_score_part) parts;
  BLIS_ARRAY(double) part_scores; /* by part, then candidate */
  blis_picker picker;
  blis_alloc alloc;
} weighted;

static blis_status fail_nan(const blis_scorer *scorer, const double *scores,
                            const blis_routing_request *request, const blis_routing_view *view,
                            blis_error *error) {
  size_t i = 0;
  while (!isnan(scores[i])) {
    i++;
  }
  char id[BLIS_REQUEST_ID_SIZE];
  const char *session = blis_intern_text(request->strings, request->session);
  return blis_fail(
      error, BLIS_ERR_POLICY,
      "scorer %s: the score of %s for %s at %" PRId64 " us is NaN; scores are numbers from 0 to 1",
      scorer->name, view->ids[i],
      blis_request_id_of(request->number, session, request->round_index, id), view->now_us);
}

/* Adds clamped scores; false if a score is NaN. */
static bool add_scores(const double *scores, double weight, size_t count, double *composites) {
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

/* Allocates the scores of every scorer; NaN for filtered candidates. */
static blis_status make_parts(weighted *self, size_t candidates) {
  size_t room = self->count * candidates;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->parts, self->count));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->part_scores, room));
  self->parts.count = self->count;
  for (size_t i = 0; i < self->count; i++) {
    self->parts.items[i] = (blis_score_part){.scorer = self->items[i].scorer.name,
                                             .weight = self->items[i].weight,
                                             .scores = self->part_scores.items + i * candidates};
  }
  for (size_t i = 0; i < room; i++) {
    self->part_scores.items[i] = (double)NAN;
  }
  return BLIS_OK;
}

/* Stores the scores of a scorer for the remaining candidates. */
static void keep_part(weighted *self, size_t part, size_t left) {
  size_t candidates = self->narrowed.whole->count;
  double *kept = self->part_scores.items + part * candidates;
  const double *scores = self->scores.items;
  for (size_t k = 0; k < left; k++) {
    kept[blis__narrowed_place(&self->narrowed, k)] = scores[k] < 0   ? 0
                                                     : scores[k] > 1 ? 1
                                                                     : scores[k];
  }
}

/* Adds the scores of a rule on a column without computing the scores themselves. */
static void add_by_form(const blis_scorer *scorer, double weight, const blis_routing_view *view,
                        double *composites) {
  blis_score_form form = scorer->ops->form(scorer->state);
  const double *values = view->columns[form.signal];
  blis__column_rule rule = blis__column_rule_of(&form, values, view->count);
  blis__column_rule_add(&rule, values, view->count, weight, composites);
}

static blis_status sum_scores(weighted *self, const blis_routing_request *request,
                              const blis_routing_view *view, bool keeps_parts, blis_error *error) {
  double *composites = self->composites.items;
  double *scores = self->scores.items;
  memset(composites, 0, view->count * sizeof *composites);
  for (size_t i = 0; i < self->count; i++) {
    const blis_scorer *scorer = &self->items[i].scorer;
    if (scorer->ops->form != NULL && !keeps_parts) {
      add_by_form(scorer, self->items[i].weight, view, composites);
      continue;
    }
    BLIS_TRY(scorer->ops->score(&(blis_question){scorer->state, request, view, error}, scores));
    if (!add_scores(scores, self->items[i].weight, view->count, composites)) {
      return fail_nan(scorer, scores, request, view, error);
    }
    if (keeps_parts) {
      keep_part(self, i, view->count);
    }
  }
  return BLIS_OK;
}

static blis_status observe_all(const weighted *self, const blis_routing_request *request,
                               const blis_routing_view *view, size_t chosen, blis_error *error) {
  for (size_t i = 0; i < self->filter_count; i++) {
    const blis_filter *filter = &self->filters[i];
    if (filter->ops->observe != NULL) {
      BLIS_TRY(filter->ops->observe(&(blis_question){filter->state, request, view, error}, chosen));
    }
  }
  for (size_t i = 0; i < self->count; i++) {
    const blis_scorer *scorer = &self->items[i].scorer;
    if (scorer->ops->observe != NULL) {
      BLIS_TRY(scorer->ops->observe(&(blis_question){scorer->state, request, view, error}, chosen));
    }
  }
  return BLIS_OK;
}

/* Applies the filters; stops if no candidate remains. */
static blis_status apply_filters(weighted *self, const blis_routing_request *request,
                                 blis_error *error) {
  bool *keep = self->keep.items;
  for (size_t i = 0; i < self->filter_count; i++) {
    const blis_filter *filter = &self->filters[i];
    const blis_routing_view *view = blis__narrowed_view(&self->narrowed);
    for (size_t k = 0; k < view->count; k++) {
      keep[k] = true;
    }
    BLIS_TRY(filter->ops->filter(&(blis_question){filter->state, request, view, error}, keep));
    BLIS_TRY_MEM(blis__narrowed_keep(&self->narrowed, keep), error);
    if (blis__narrowed_view(&self->narrowed)->count == 0) {
      return BLIS_OK;
    }
  }
  return BLIS_OK;
}

static blis_status reserve(weighted *self, size_t count) {
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->keep, count));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->scores, count));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->composites, count));
  return blis_array_reserve(&self->alloc, &self->spread, count);
}

/* Copies the scores of the remaining candidates to an array over all candidates. */
static const double *spread_scores(weighted *self, const blis_routing_view *left, size_t all) {
  if (left->count == all) {
    return self->composites.items;
  }
  double *spread = self->spread.items;
  for (size_t i = 0; i < all; i++) {
    spread[i] = -INFINITY;
  }
  for (size_t k = 0; k < left->count; k++) {
    size_t place = blis__narrowed_place(&self->narrowed, k);
    spread[place] = self->composites.items[k];
  }
  return spread;
}

/* Stores the cached tokens of the chosen candidate, as predicted by the first scorer that reads
   caches. */
static void note_belief(const weighted *self, const blis_routing_view *view, size_t chosen,
                        blis_decision *decision) {
  for (size_t i = 0; i < self->count && !decision->has_belief; i++) {
    const blis_scorer *scorer = &self->items[i].scorer;
    if (scorer->ops->believed_tokens != NULL) {
      decision->has_belief = true;
      decision->believed_tokens = scorer->ops->believed_tokens(scorer->state, view, chosen);
    }
  }
}

/* Returns the tie rule of a decision that does not need to visit all candidates, or NULL. */
static blis_tie *tie_of_search(const weighted *self, const blis_question *q) {
  const blis_picker *picker = &self->picker;
  bool can_search = self->filter_count == 0 && !q->request->wants_parts &&
                    picker->ops->tie != NULL && blis__weighted_search_can(&self->search, q->view);
  return can_search ? picker->ops->tie(picker->state) : NULL;
}

static blis_status route_by_search(weighted *self, const blis_question *q, blis_tie *tie,
                                   blis_decision *decision) {
  const blis_routing_view *view = q->view;
  *decision = (blis_decision){.chosen = 0};
  BLIS_TRY(blis__weighted_search_pick(&self->search, q, tie, &decision->chosen, &decision->score));
  note_belief(self, view, decision->chosen, decision);
  return observe_all(self, q->request, view, decision->chosen, q->error);
}

static blis_status route_by_pass(weighted *self, const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  bool wants_parts = request->wants_parts;
  if (reserve(self, view->count) != BLIS_OK ||
      (wants_parts && make_parts(self, view->count) != BLIS_OK)) {
    return blis_fail_nomem(q->error);
  }
  blis__narrowed_begin(&self->narrowed, view);
  BLIS_TRY(apply_filters(self, request, q->error));
  const blis_routing_view *left = blis__narrowed_view(&self->narrowed);
  if (left->count == 0) {
    *decision = (blis_decision){.rejected = "no-candidate"};
    return BLIS_OK;
  }
  BLIS_TRY(sum_scores(self, request, left, wants_parts, q->error));
  size_t chosen = 0;
  BLIS_TRY(self->picker.ops->pick(&(blis_question){self->picker.state, request, left, q->error},
                                  self->composites.items, &chosen));
  BLIS_ASSERT(chosen < left->count);
  *decision = (blis_decision){.chosen = blis__narrowed_place(&self->narrowed, chosen),
                              .score = self->composites.items[chosen],
                              .scores = spread_scores(self, left, view->count),
                              .parts = self->parts.items,
                              .part_count = wants_parts ? self->count : 0};
  note_belief(self, left, chosen, decision);
  return observe_all(self, request, left, chosen, q->error);
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  weighted *self = q->state;
  blis_tie *tie = tie_of_search(self, q);
  return tie != NULL ? route_by_search(self, q, tie, decision) : route_by_pass(self, q, decision);
}

static void free_parts(const blis_weighted_parts *parts) {
  for (size_t i = 0; i < parts->filter_count; i++) {
    blis_filter_free(&parts->filters[i]);
  }
  for (size_t i = 0; i < parts->count; i++) {
    blis_scorer_free(&parts->items[i].scorer);
  }
  if (parts->picker != NULL) {
    blis_picker_free(parts->picker);
  }
}

static void free_state(const blis_alloc *alloc, void *state) {
  weighted *self = state;
  const blis_weighted_parts parts = {self->filters, self->filter_count, self->items, self->count,
                                     &self->picker};
  free_parts(&parts);
  blis__weighted_search_deinit(&self->search);
  blis_alloc_free(alloc, self->filters, self->filter_count * sizeof *self->filters);
  blis_alloc_free(alloc, self->items, self->count * sizeof *self->items);
  blis__narrowed_deinit(&self->narrowed);
  blis_array_deinit(alloc, &self->keep);
  blis_array_deinit(alloc, &self->scores);
  blis_array_deinit(alloc, &self->composites);
  blis_array_deinit(alloc, &self->spread);
  blis_array_deinit(alloc, &self->parts);
  blis_array_deinit(alloc, &self->part_scores);
  blis_alloc_free(alloc, self, sizeof *self);
}

static blis_status learn(const blis_question *q, size_t chosen) {
  return observe_all(q->state, q->request, q->view, chosen, q->error);
}

static const blis_router_ops ops = {.route = route, .learn = learn, .free = free_state};

static blis_status check_items(const blis_weighted_item *items, size_t count, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    const char *name = items[i].scorer.name;
    double weight = items[i].weight;
    if (!(weight > 0) || isinf(weight)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "scorer %s: weight is %g, expected a finite number > 0", name, weight);
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

/* Scales the weights so that they sum to 1. */
static void normalise(blis_weighted_item *items, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += items[i].weight;
  }
  for (size_t i = 0; i < count; i++) {
    items[i].weight /= sum;
  }
}

static blis_signal_set needs_of(const weighted *self) {
  blis_signal_set needs = self->picker.needs;
  for (size_t i = 0; i < self->filter_count; i++) {
    needs |= self->filters[i].needs;
  }
  for (size_t i = 0; i < self->count; i++) {
    needs |= self->items[i].scorer.needs;
  }
  return needs;
}

const blis_param_spec blis__weighted_params[BLIS__WEIGHTED_PARAM_COUNT] = {
    BLIS__CHOICE("tie", BLIS_TIE_CHOICES "|stable-hash", "tie break (profile go-blis: random)"),
    BLIS__CHOICE("picker",
                 "best|random|power-of-two|softmax|epsilon-greedy|"
                 "weighted-random|llm-d.max-score-picker|llm-d.random-picker|"
                 "llm-d.weighted-random-picker",
                 "picker applied to the sums"),
    BLIS__NUMBER("temperature", 0, 1e9, 1, "",
                 "of picker softmax: 0 = always the best; higher is more random"),
    BLIS__NUMBER("exploration", 0, 1, 0.05, "0 to 1",
                 "of picker epsilon-greedy: share of decisions at random"),
};

/* Creates the picker that the parameters name; all other parameters belong to the picker. */
static blis_status make_picker(weighted *self, const blis_params *params,
                               const blis_policy_context *context, blis_error *error) {
  blis_param items[BLIS__WEIGHTED_PARAM_COUNT];
  blis_params own = {items, 0};
  const char *name = "best";
  for (size_t i = 0; params != NULL && i < params->count; i++) {
    if (strcmp(params->items[i].name, "picker") == 0) {
      name = params->items[i].text;
    } else {
      items[own.count++] = params->items[i];
    }
  }
  return blis_picker_create(&self->alloc, name, &own, context, &self->picker, error);
}

/* Parameters apply only to a picker that is chosen by name; a picker object already has its own. */
static blis_status check_no_params(const blis_picker *picker, const blis_params *params,
                                   blis_error *error) {
  if (params == NULL || params->count == 0) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "routing policy weighted: %s is a parameter of built-in "
                   "pickers and does not apply to '%s'",
                   params->items[0].name, picker->name);
}

/* Moves the parts into self and empties the source. */
static blis_status take_parts(weighted *self, const blis_weighted_parts *parts) {
  self->filters = blis_alloc_zeroed(&self->alloc, parts->filter_count, sizeof *self->filters);
  self->filter_count = self->filters == NULL ? 0 : parts->filter_count;
  self->items = blis_alloc_zeroed(&self->alloc, parts->count, sizeof *self->items);
  self->count = self->items == NULL ? 0 : parts->count;
  if (self->filter_count < parts->filter_count || self->count < parts->count) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < parts->filter_count; i++) {
    self->filters[i] = parts->filters[i];
    parts->filters[i] = (blis_filter){0};
  }
  for (size_t i = 0; i < parts->count; i++) {
    self->items[i] = parts->items[i];
    parts->items[i].scorer = (blis_scorer){0};
  }
  if (parts->picker != NULL) {
    self->picker = *parts->picker;
    *parts->picker = (blis_picker){0};
  }
  return BLIS_OK;
}

static blis_status make(weighted *self, const blis_weighted_parts *parts, const blis_params *params,
                        const blis_policy_context *context, blis_error *error) {
  BLIS_TRY(blis_params_check(params, blis__weighted_params, BLIS__WEIGHTED_PARAM_COUNT,
                             "routing policy weighted", error));
  BLIS_TRY(check_items(parts->items, parts->count, error));
  BLIS_TRY_MEM(take_parts(self, parts), error);
  normalise(self->items, self->count);
  BLIS_TRY_MEM(blis__weighted_search_init(&self->search, &self->alloc, self->items, self->count),
               error);
  return self->picker.ops != NULL ? check_no_params(&self->picker, params, error)
                                  : make_picker(self, params, context, error);
}

blis_status blis_weighted_new(const blis_alloc *alloc, const blis_weighted_parts *parts,
                              const blis_params *params, const blis_policy_context *context,
                              blis_router *router, blis_error *error) {
  BLIS_ASSERT(parts->count >= 1);
  weighted *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self == NULL) {
    free_parts(parts);
    return blis_fail_nomem(error);
  }
  self->alloc = *alloc;
  self->narrowed.alloc = *alloc;
  self->search.alloc = *alloc;
  blis_status status = make(self, parts, params, context, error);
  if (status != BLIS_OK) {
    free_parts(parts);
    free_state(alloc, self);
    return status;
  }
  *router = (blis_router){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = needs_of(self),
                          .needs_extremes = self->search.needs,
                          .name = "weighted"};
  return BLIS_OK;
}
