/* delay.h - a duration given by a probability distribution. */
#ifndef BLIS_CLUSTER_INSTANCES_DELAY_H
#define BLIS_CLUSTER_INSTANCES_DELAY_H

#include <stdint.h>

#include "base/random.h"

typedef enum blis_delay_shape {
  BLIS_DELAY_NORMAL,
  BLIS_DELAY_LOGNORMAL,   /* mean must be above 0 */
  BLIS_DELAY_UNIFORM,     /* from mean - sqrt(3) * stddev to mean + sqrt(3) * stddev */
  BLIS_DELAY_EXPONENTIAL, /* stddev equals the mean */
  BLIS_DELAY_SHAPE_COUNT
} blis_delay_shape;

/* A distribution with this mean and standard deviation. Negative samples become 0. */
typedef struct blis_delay {
  double mean_us;
  double stddev_us;
  blis_delay_shape shape;
} blis_delay;

/*
 * Returns a sample in whole microseconds, >= 0. A normal delay with stddev 0 uses no random number.
 */
int64_t blis_delay_draw(const blis_delay *delay, blis_random *random);

#endif
