/*
 * delay.h - how long something takes, as a distribution.
 */
#ifndef BLIS_CLUSTER_INSTANCES_DELAY_H
#define BLIS_CLUSTER_INSTANCES_DELAY_H

#include <stdint.h>

#include "base/random.h"

typedef enum blis_delay_shape {
  BLIS_DELAY_NORMAL,
  BLIS_DELAY_LOGNORMAL,   /* mean above 0 */
  BLIS_DELAY_UNIFORM,     /* between mean - sqrt(3) * stddev and + */
  BLIS_DELAY_EXPONENTIAL, /* stddev is the mean */
  BLIS_DELAY_SHAPE_COUNT
} blis_delay_shape;

/* With this mean and deviation, but not below 0. */
typedef struct blis_delay {
  double mean_us;
  double stddev_us;
  blis_delay_shape shape;
} blis_delay;

/* 0 or more, in whole microseconds. A normal delay without deviation makes no draw. */
int64_t blis_delay_draw(const blis_delay *delay, blis_random *random);

#endif
