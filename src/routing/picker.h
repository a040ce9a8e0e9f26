/*
 * picker.h - from scores to one candidate: the last stage of the pipeline
 * filters -> scorers -> picker.
 *
 *   best            the highest score; ties by a named rule
 *   random          any candidate
 *   power-of-two    the better of two different random candidates, the one
 *                   drawn first when they are equal (Mitzenmacher 2001)
 *   softmax         with probability proportional to
 *                   exp((score - max) / ((max - min) temperature)), as
 *                   NVIDIA Dynamo's KV router does it
 *   epsilon-greedy  any candidate with probability epsilon, else the best
 *
 * Random choices come from the stream "policy/<owner>" and are drawn only when
 * there is more than one candidate. Scores must not be NaN.
 */
#ifndef BLIS_ROUTING_PICKER_H
#define BLIS_ROUTING_PICKER_H

#include <stdbool.h>

#include "base/random.h"
#include "routing/params.h"
#include "routing/stable_hash.h"
#include "routing/tie.h"

typedef enum blis_picker_kind {
  BLIS_PICK_BEST,
  BLIS_PICK_RANDOM,
  BLIS_PICK_POWER_OF_TWO,
  BLIS_PICK_SOFTMAX,
  BLIS_PICK_EPSILON_GREEDY
} blis_picker_kind;

/* The kinds' names in this order. */
#define BLIS_PICKER_CHOICES "best|random|power-of-two|softmax|epsilon-greedy"

/* In the policy's storage; 10 KB for two random streams. */
typedef struct blis_picker {
  blis_picker_kind kind;
  blis_tie tie;
  bool has_stable_ties; /* stable instead of tie.rule */
  blis_stable_hash stable;
  double temperature; /* of softmax, >= 0 */
  double epsilon;     /* of epsilon-greedy, 0 to 1 */
  blis_random random;
} blis_picker;

/* The candidate to take. BLIS_ERR_NOMEM or BLIS_OK. */
BLIS_MUSTUSE blis_status blis_picker_pick(blis_picker *picker,
                                          const blis_routing_request *request,
                                          const blis_routing_view *view,
                                          const double *scores, size_t *chosen);

/* The single rules, of count >= 1 candidates. */
size_t blis_pick_random(blis_random *random, size_t count);
size_t blis_pick_power_of_two(blis_random *random, const double *scores,
                              size_t count);
/* Two different ones, count >= 2: the first of all, the second of the rest. */
void blis_pick_two(blis_random *random, size_t count, size_t *first,
                   size_t *second);
size_t blis_pick_softmax(blis_random *random, const double *scores,
                         size_t count, double temperature);

#endif
