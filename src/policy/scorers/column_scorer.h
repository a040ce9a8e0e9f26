/*
 * column_scorer.h - scorers that are a rule (policy/contract/scorer.h) on a single
 * column.
 *
 * They need one pass for the bounds of the column and one pass that adds up weighted scores, in
 * simple loops that compilers vectorize. All code paths use the same expressions, so a score is
 * bit-identical on each of them.
 */
#ifndef BLIS_POLICY_SCORERS_COLUMN_SCORER_H
#define BLIS_POLICY_SCORERS_COLUMN_SCORER_H

#include <stddef.h>

#include "policy/contract/scorer.h"

/* A rule, with the lowest and highest value of all candidates. */
typedef struct blis__column_rule {
  blis_score_form form;
  double least;
  double greatest;
} blis__column_rule;

/* Returns the rule for these values; count >= 1. */
blis__column_rule blis__column_rule_of(const blis_score_form *form, const double *values,
                                       size_t count);

/* Adds weight * (the score of values[i]) to sums[i]. The arrays must not overlap. */
void blis__column_rule_add(const blis__column_rule *rule, const double *restrict values,
                           size_t count, double weight, double *restrict sums);

/* Computes the scores of candidates from the column of the form, which must exist. */
void blis__score_by_form(const blis_score_form *form, const blis_routing_view *view,
                         double *scores);

/* Defines the score function of a scorer that has a form. */
#define BLIS__SCORE_BY_FORM(name, form_of)                                                         \
  static blis_status name(const blis_question *q, double *scores) {                                \
    const blis_score_form form = (form_of)(q->state);                                              \
    blis__score_by_form(&form, q->view, scores);                                                   \
    return BLIS_OK;                                                                                \
  }

/*
 * Scores values that are not a column as (max - value) / (max - min), or all 1 if
 * they are equal. count >= 1; scores may be the same array.
 */
void blis__score_least(const double *values, size_t count, double *scores);

/* Scores values as (value - min) / (max - min), or all 1 if they are equal. count >= 1. */
void blis__score_most(const double *values, size_t count, double *scores);

#endif
