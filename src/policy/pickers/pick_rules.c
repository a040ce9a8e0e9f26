#include "policy/pickers/pick_rules.h"

#include <math.h>

size_t blis_pick_random(blis_random *random, size_t count) {
  return count == 1 ? 0 : (size_t)blis_random_intn(random, (int32_t)count);
}

void blis_pick_two(blis_random *random, size_t count, size_t *first, size_t *second) {
  *first = (size_t)blis_random_intn(random, (int32_t)count);
  *second = (size_t)blis_random_intn(random, (int32_t)count - 1);
  *second += *second >= *first;
}

size_t blis_pick_power_of_two(blis_random *random, const double *scores, size_t count) {
  if (count == 1) {
    return 0;
  }
  size_t first;
  size_t second;
  blis_pick_two(random, count, &first, &second);
  return scores[second] > scores[first] ? second : first;
}

/* Returns the unnormalized probability of a candidate; 1 for the best. */
static double softmax_share(double score, double best, double scale) {
  return exp((score - best) / scale);
}

size_t blis_pick_softmax(blis_random *random, const double *scores, size_t count,
                         double temperature) {
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

size_t blis_pick_weighted_random(blis_random *random, const double *scores, size_t count) {
  static const double least_draw = 1e-10; /* instead of 0 */
  size_t best = count;
  double best_key = 0; /* the logarithm of U^(1/score) */
  for (size_t i = 0; i < count && count > 1; i++) {
    if (scores[i] > 0) {
      double draw = blis_random_float64(random);
      double key = log(draw > 0 ? draw : least_draw) / scores[i];
      if (best == count || key > best_key) {
        best = i;
        best_key = key;
      }
    }
  }
  return best < count ? best : blis_pick_random(random, count);
}
