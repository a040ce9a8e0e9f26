/*
 * pick_rules.h - rules that choose one of count >= 1 candidates at random, by score.
 *
 * They draw random numbers only if there is more than one candidate. Scores must not be NaN.
 * O(candidates).
 */
#ifndef BLIS_POLICY_PICKERS_PICK_RULES_H
#define BLIS_POLICY_PICKERS_PICK_RULES_H

#include <stddef.h>

#include "base/random.h"

/* Returns any candidate, with equal probability. */
size_t blis_pick_random(blis_random *random, size_t count);

/* Draws two different candidates: the first from all, the second from the rest. Requires count
   >= 2. */
void blis_pick_two(blis_random *random, size_t count, size_t *first, size_t *second);

/*
 * Returns the better of two different random candidates; if they are equal, the one drawn first
 * (Mitzenmacher 2001).
 */
size_t blis_pick_power_of_two(blis_random *random, const double *scores, size_t count);

/*
 * Draws with probability proportional to exp((score - max) / ((max - min) temperature)), like
 * NVIDIA Dynamo's KV router. Requires temperature >= 0; with 0, returns the first of the best.
 */
size_t blis_pick_softmax(blis_random *random, const double *scores, size_t count,
                         double temperature);

/*
 * Draws with probability proportional to the score: the candidate with the largest U^(1/score)
 * (Efraimidis and Spirakis, A-Res) with one random number per score above 0. If no score is above
 * 0, all candidates are equally probable.
 */
size_t blis_pick_weighted_random(blis_random *random, const double *scores, size_t count);

#endif
