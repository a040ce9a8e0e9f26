#include "cluster/delay.h"

#include <math.h>

#include "base/time.h"

int64_t blis_delay_draw(const blis_delay *delay, blis_random *random) {
  double value = delay->mean_us;
  if (delay->stddev_us > 0) {
    value += blis_random_normal(random) * delay->stddev_us;
  }
  return value > 0 ? (int64_t)fmin(value, (double)BLIS_TIME_SPAN_MAX_US) : 0;
}
