/*
 * pick_rules.h - rules that draw one of count >= 1 candidates by their scores.
 *
 * They draw only when there is more than one candidate. Scores must not be
 * NaN. O(candidates).
 */
#ifndef BLIS_POLICY_PICKERS_PICK_RULES_H
#define BLIS_POLICY_PICKERS_PICK_RULES_H

#include <stddef.h>

#include "base/random.h"

/* Any of them. */
size_t blis_pick_random(blis_random *random, size_t count);

/* Two different ones, count >= 2: the first of all, the second of the rest. */
void blis_pick_two(blis_random *random, size_t count, size_t *first, size_t *second);

/*
 * The better of two different random ones, the one drawn first when they are
 * equal (Mitzenmacher 2001).
 */
size_t blis_pick_power_of_two(blis_random *random, const double *scores, size_t count);

/*
 * With probability proportional to exp((score - max) / ((max - min)
 * temperature)), as NVIDIA Dynamo's KV router does it; temperature >= 0, and 0
 * takes the first of the best.
 */
size_t blis_pick_softmax(blis_random *random, const double *scores, size_t count,
                         double temperature);

/*
 * With probability proportional to the score, by the largest U^(1/score)
 * (Efraimidis and Spirakis, A-Res) with one draw per candidate above 0. If no score
 * is above 0, all candidates are equally probable.
 */
size_t blis_pick_weighted_random(blis_random *random, const double *scores, size_t count);

#endif
