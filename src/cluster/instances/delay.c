#include "cluster/instances/delay.h"

#include <math.h>

#include "base/time.h"

/* The logarithm is normally distributed with variance ln(1 + (stddev / mean)^2). */
static double draw_lognormal(const blis_delay *delay, blis_random *random) {
  double ratio = delay->stddev_us / delay->mean_us;
  double variance = log1p(ratio * ratio);
  double location = log(delay->mean_us) - variance / 2;
  return exp(location + sqrt(variance) * blis_random_normal(random));
}

static double draw(const blis_delay *delay, blis_random *random) {
  switch (delay->shape) {
  case BLIS_DELAY_LOGNORMAL:
    return delay->mean_us > 0 ? draw_lognormal(delay, random) : 0;
  case BLIS_DELAY_UNIFORM:
    return delay->mean_us + (2 * blis_random_float64(random) - 1) * sqrt(3) * delay->stddev_us;
  case BLIS_DELAY_EXPONENTIAL:
    return delay->mean_us * blis_random_exp(random);
  default:
    return delay->stddev_us > 0 ? delay->mean_us + blis_random_normal(random) * delay->stddev_us
                                : delay->mean_us;
  }
}

int64_t blis_delay_draw(const blis_delay *delay, blis_random *random) {
  double value = draw(delay, random);
  return value > 0 ? (int64_t)fmin(value, (double)BLIS_TIME_SPAN_MAX_US) : 0;
}
