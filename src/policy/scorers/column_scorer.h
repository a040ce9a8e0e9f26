/*
 * column_scorer.h - scorers that are one pass over a single column.
 *
 * Each pass is O(candidates); scores may be the same array as values.
 */
#ifndef BLIS_POLICY_SCORERS_COLUMN_SCORER_H
#define BLIS_POLICY_SCORERS_COLUMN_SCORER_H

#include <stddef.h>

#include "policy/contract/scorer.h"

/* (max - value) / (max - min); all 1 when they are equal. count >= 1. */
void blis__score_least(const double *values, size_t count, double *scores);

/* (value - min) / (max - min); all 1 when they are equal. count >= 1. */
void blis__score_most(const double *values, size_t count, double *scores);

/*
 * (max - value) / max * best_of_busy, and 1 up to a value of idle: unlike
 * above, equal and busy is 0 for all.
 */
void blis__score_idle(const double *values, size_t count, double idle,
                      double best_of_busy, double *scores);

#endif
