#include "routing/picker.h"

#include <math.h>

size_t blis_pick_random(blis_random *random, size_t count) {
  return count == 1 ? 0 : (size_t)blis_random_intn(random, (int32_t)count);
}

void blis_pick_two(blis_random *random, size_t count, size_t *first,
                   size_t *second) {
  *first = (size_t)blis_random_intn(random, (int32_t)count);
  *second = (size_t)blis_random_intn(random, (int32_t)count - 1);
  *second += *second >= *first;
}

size_t blis_pick_power_of_two(blis_random *random, const double *scores,
                              size_t count) {
  if (count == 1) {
    return 0;
  }
  size_t first;
  size_t second;
  blis_pick_two(random, count, &first, &second);
  return scores[second] > scores[first] ? second : first;
}

/* The share of a candidate, 1 for the best one. */
static double softmax_share(double score, double best, double scale) {
  return exp((score - best) / scale);
}

size_t blis_pick_softmax(blis_random *random, const double *scores,
                         size_t count, double temperature) {
  double best = scores[0];
  double worst = scores[0];
  size_t first_best = 0;
  for (size_t i = 1; i < count; i++) {
    if (scores[i] > best) {
      best = scores[i];
      first_best = i;
    }
    worst = scores[i] < worst ? scores[i] : worst;
  }
  if (best == worst) {
    return blis_pick_random(random, count);
  }
  double scale = (best - worst) * temperature;
  if (!(scale > 0)) {
    return first_best;
  }
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += softmax_share(scores[i], best, scale);
  }
  double left = blis_random_float64(random) * sum;
  for (size_t i = 0; i < count; i++) {
    left -= softmax_share(scores[i], best, scale);
    if (left < 0) {
      return i;
    }
  }
  return first_best; /* the sum was rounded up */
}

static blis_status pick_best(blis_picker *picker,
                             const blis_routing_request *request,
                             const blis_routing_view *view,
                             const double *scores, size_t *chosen) {
  if (picker->has_stable_ties) {
    return blis_stable_hash_pick(&picker->stable, request, view, scores,
                                 chosen);
  }
  *chosen = blis_tie_pick_max(&picker->tie, scores, view);
  return BLIS_OK;
}

blis_status blis_picker_pick(blis_picker *picker,
                             const blis_routing_request *request,
                             const blis_routing_view *view,
                             const double *scores, size_t *chosen) {
  switch (picker->kind) {
  case BLIS_PICK_BEST:
    break;
  case BLIS_PICK_RANDOM:
    *chosen = blis_pick_random(&picker->random, view->count);
    return BLIS_OK;
  case BLIS_PICK_POWER_OF_TWO:
    *chosen = blis_pick_power_of_two(&picker->random, scores, view->count);
    return BLIS_OK;
  case BLIS_PICK_SOFTMAX:
    *chosen = blis_pick_softmax(&picker->random, scores, view->count,
                                picker->temperature);
    return BLIS_OK;
  case BLIS_PICK_EPSILON_GREEDY:
    if (view->count > 1 &&
        blis_random_float64(&picker->random) < picker->epsilon) {
      *chosen = blis_pick_random(&picker->random, view->count);
      return BLIS_OK;
    }
    break;
  }
  return pick_best(picker, request, view, scores, chosen);
}
