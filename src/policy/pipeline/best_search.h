/*
 * best_search.h - finds the candidate with the highest sum of scores without
 * visiting all candidates.
 *
 * The scores are rules on columns whose extremes are maintained (base/extremes.h).
 * No rule rises with its value, and rounding is monotonic. The sum for the least
 * values of a stretch of candidates, computed like the sum of a candidate, is
 * therefore an upper bound of their sums. Stretches that cannot contain the best
 * are skipped. The sums are bit-identical to a pass over all candidates, and ties
 * are broken in the same way.
 *
 * Cost: 16 sums per level of the tree for each stretch that is searched. With
 * counts of requests, which balancing keeps close together, that is a handful; in
 * the worst case it is a pass over all candidates plus one sixteenth.
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

/* A candidate with its own sum, not below the sum of its terms. */
typedef struct blis__raised {
  uint32_t candidate;
  double sum;
  bool is_tied; /* written by the search */
} blis__raised;

/* The terms, in the order of addition; count >= 1. */
typedef struct blis__best_query {
  const blis__term *terms;
  size_t count;
  blis__raised *raised; /* each candidate once, ascending */
  size_t raised_count;
  const blis_extremes *ranks; /* of the candidates' ids */
} blis__best_query;

/* The candidate with the highest sum, which goes to *best. */
size_t blis__best_pick(const blis__best_query *query, blis_tie *tie, double *best);

#endif
