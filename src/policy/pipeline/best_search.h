/*
 * best_search.h - finds the candidate with the highest sum of scores without
 * visiting all candidates.
 *
 * The scores are rules on columns whose extremes are maintained (base/extremes.h). No rule's score
 * increases with its value, and rounding is monotonic. For a range of candidates, the sum that is
 * computed from the lowest values in the range is therefore an upper bound of all their sums.
 * Ranges that cannot contain the best candidate are skipped. The sums are bit-identical to those of
 * a pass over all candidates, and ties are broken in the same way.
 *
 * Cost: 16 sums per level of the tree for each range that is searched. Only a few ranges are
 * searched if the columns are request counts, because balancing keeps these close together. The
 * worst case costs one sixteenth more than a pass over all candidates.
 */
#ifndef BLIS_POLICY_PIPELINE_BEST_SEARCH_H
#define BLIS_POLICY_PIPELINE_BEST_SEARCH_H

#include "policy/contract/tie.h"
#include "policy/scorers/column_scorer.h"

/* One rule, with the extremes of its column over all candidates. */
typedef struct blis__term {
  blis__column_rule rule;
  const blis_extremes *extremes;
  double weight; /* > 0 */
} blis__term;

/* A candidate with a separate sum, which is not below the sum of its terms. */
typedef struct blis__raised {
  uint32_t candidate;
  double sum;
  bool is_tied; /* set by the search */
} blis__raised;

/* The input of a search. Terms are in the order of addition; count >= 1. */
typedef struct blis__best_query {
  const blis__term *terms;
  size_t count;
  blis__raised *raised; /* candidates with a separate sum; each listed once, ascending */
  size_t raised_count;
  const blis_extremes *ranks; /* ranks of the candidates' ids */
} blis__best_query;

/* Returns the candidate with the highest sum and stores the sum in *best. */
size_t blis__best_pick(const blis__best_query *query, blis_tie *tie, double *best);

#endif
