/*
 * weighted_search.h - the search of the weighted router for its best candidate, for routers in
 * which every scorer is a rule on a column, or has a score of 0 for all but a few candidates.
 *
 * It calls the scorers in their order, like the pass over all candidates, and returns the same
 * choice and the same score (pipeline/best_search.h). It keeps no state between decisions: data
 * that changes little is maintained with the columns.
 */
#ifndef BLIS_POLICY_PIPELINE_WEIGHTED_SEARCH_H
#define BLIS_POLICY_PIPELINE_WEIGHTED_SEARCH_H

#include "base/array.h"
#include "policy/pipeline/best_search.h"
#include "policy/pipeline/weighted.h"

/* A zeroed struct means that the search is not possible. */
typedef struct blis__weighted_search {
  blis_alloc alloc;
  const blis_weighted_item *items; /* borrowed */
  size_t count;
  bool is_possible;      /* if the view has extremes */
  blis_signal_set needs; /* columns whose extremes the search needs */
  BLIS_ARRAY(blis__term) terms;
  BLIS_ARRAY(double) few_scores; /* by scorer, then candidate; 0 between decisions */
  size_t few_room;               /* capacity of few, in candidates */
  BLIS_ARRAY(uint32_t) few;      /* candidates listed by one scorer */
  BLIS_ARRAY(blis__raised) raised;
} blis__weighted_search;

/* Weights sum to 1. After BLIS_ERR_NOMEM the search must still be deinitialized. */
BLIS_MUSTUSE blis_status blis__weighted_search_init(blis__weighted_search *search,
                                                    const blis_alloc *alloc,
                                                    const blis_weighted_item *items, size_t count);
void blis__weighted_search_deinit(blis__weighted_search *search);

/* Returns whether the view has all inputs of the search. */
bool blis__weighted_search_can(const blis__weighted_search *search, const blis_routing_view *view);

/* Finds the best candidate. Requires blis__weighted_search_can; q->state is ignored. */
BLIS_MUSTUSE blis_status blis__weighted_search_pick(blis__weighted_search *search,
                                                    const blis_question *q, blis_tie *tie,
                                                    size_t *chosen, double *best);

#endif
