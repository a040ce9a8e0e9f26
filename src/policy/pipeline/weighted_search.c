#include "policy/pipeline/weighted_search.h"

#include <stdlib.h>

#include "base/invariant.h"

blis_status blis__weighted_search_init(blis__weighted_search *search, const blis_alloc *alloc,
                                       const blis_weighted_item *items, size_t count) {
  *search = (blis__weighted_search){.alloc = *alloc, .items = items, .count = count};
  BLIS_TRY(blis_array_reserve(alloc, &search->terms, count));
  for (size_t i = 0; i < count; i++) {
    const blis_scorer *scorer = &items[i].scorer;
    if (scorer->ops->form != NULL) {
      blis_score_form form = scorer->ops->form(scorer->state);
      search->terms.items[search->terms.count++] =
          (blis__term){.rule = {.form = form}, .weight = items[i].weight};
      search->needs |= BLIS_SIGNAL_BIT(form.signal);
    } else if (scorer->ops->score_few == NULL) {
      search->needs = 0;
      return BLIS_OK;
    }
  }
  search->is_possible = search->terms.count > 0;
  return BLIS_OK;
}

void blis__weighted_search_deinit(blis__weighted_search *search) {
  const blis_alloc *alloc = &search->alloc;
  blis_array_deinit(alloc, &search->terms);
  blis_array_deinit(alloc, &search->few_scores);
  blis_array_deinit(alloc, &search->few);
  blis_array_deinit(alloc, &search->raised);
}

bool blis__weighted_search_can(const blis__weighted_search *search, const blis_routing_view *view) {
  if (!search->is_possible || view->extremes == NULL) {
    return false;
  }
  for (size_t t = 0; t < search->terms.count; t++) {
    if (view->extremes[search->terms.items[t].rule.form.signal] == NULL) {
      return false;
    }
  }
  return true;
}

static blis_status make_room(blis__weighted_search *search, size_t candidates) {
  if (candidates <= search->few_room) {
    return BLIS_OK;
  }
  size_t few = search->count - search->terms.count;
  const blis_alloc *alloc = &search->alloc;
  BLIS_TRY(blis_array_reserve(alloc, &search->few, candidates));
  BLIS_TRY(blis_array_reserve(alloc, &search->raised, few * candidates));
  BLIS_TRY(blis_array_reserve(alloc, &search->few_scores, few * candidates));
  while (search->few_scores.count < few * candidates) {
    search->few_scores.items[search->few_scores.count++] = 0;
  }
  search->few_room = candidates;
  return BLIS_OK;
}

static void show_columns(blis__weighted_search *search, const blis_routing_view *view) {
  for (size_t t = 0; t < search->terms.count; t++) {
    blis__term *term = &search->terms.items[t];
    term->extremes = view->extremes[term->rule.form.signal];
    term->rule.least = blis_extremes_least(term->extremes);
    term->rule.greatest = blis_extremes_greatest(term->extremes);
  }
}

/* Calls the scorers whose score is 0 for all but a few candidates. */
static blis_status ask(blis__weighted_search *search, const blis_question *q) {
  double *scores = search->few_scores.items;
  uint32_t *few = search->few.items;
  search->raised.count = 0;
  for (size_t i = 0; i < search->count; i++) {
    const blis_scorer *scorer = &search->items[i].scorer;
    if (scorer->ops->form != NULL) {
      continue;
    }
    size_t count = 0;
    BLIS_TRY(scorer->ops->score_few(&(blis_question){scorer->state, q->request, q->view, q->error},
                                    scores, few, &count));
    for (size_t k = 0; k < count; k++) {
      search->raised.items[search->raised.count++] = (blis__raised){.candidate = few[k]};
    }
    scores += search->few_room;
  }
  return BLIS_OK;
}

static int compare_raised(const void *a, const void *b) {
  uint32_t left = ((const blis__raised *)a)->candidate;
  uint32_t right = ((const blis__raised *)b)->candidate;
  return (left > right) - (left < right);
}

/* Sorts the listed candidates and removes duplicates, since several scorers may list the same
   candidate. */
static void sort_raised(blis__weighted_search *search) {
  blis__raised *items = search->raised.items;
  size_t count = search->raised.count;
  if (count < 2) {
    return;
  }
  qsort(items, count, sizeof *items, compare_raised);
  size_t kept = 1;
  for (size_t k = 1; k < count; k++) {
    if (items[k].candidate != items[kept - 1].candidate) {
      items[kept++] = items[k];
    }
  }
  search->raised.count = kept;
}

static double clamped(double score) {
  return score < 0 ? 0 : score > 1 ? 1 : score;
}

/* Adds up all scores of a candidate, in the order of the scorers. */
static double sum_of(const blis__weighted_search *search, uint32_t candidate) {
  const double *few_scores = search->few_scores.items + candidate;
  const blis__term *term = search->terms.items;
  double sum = 0;
  for (size_t i = 0; i < search->count; i++) {
    if (search->items[i].scorer.ops->form != NULL) {
      blis__column_rule_add(&term->rule, term->extremes->levels[0].least + candidate, 1,
                            term->weight, &sum);
      term++;
    } else {
      sum += clamped(*few_scores) * search->items[i].weight;
      few_scores += search->few_room;
    }
  }
  return sum;
}

/* Computes the sums of the listed candidates and resets their scores to 0. */
static void sum_raised(blis__weighted_search *search) {
  size_t few = search->count - search->terms.count;
  for (size_t k = 0; k < search->raised.count; k++) {
    blis__raised *raised = &search->raised.items[k];
    raised->sum = sum_of(search, raised->candidate);
    for (size_t i = 0; i < few; i++) {
      search->few_scores.items[i * search->few_room + raised->candidate] = 0;
    }
  }
}

blis_status blis__weighted_search_pick(blis__weighted_search *search, const blis_question *q,
                                       blis_tie *tie, size_t *chosen, double *best) {
  BLIS_ASSERT(blis__weighted_search_can(search, q->view));
  BLIS_TRY_MEM(make_room(search, q->view->count), q->error);
  show_columns(search, q->view);
  BLIS_TRY(ask(search, q));
  sort_raised(search);
  sum_raised(search);
  const blis__best_query query = {.terms = search->terms.items,
                                  .count = search->terms.count,
                                  .raised = search->raised.items,
                                  .raised_count = search->raised.count,
                                  .ranks = q->view->rank_extremes};
  *chosen = blis__best_pick(&query, tie, best);
  return BLIS_OK;
}
