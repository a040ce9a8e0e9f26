/*
 * delay.h - how long something takes, as a distribution.
 */
#ifndef BLIS_CLUSTER_DELAY_H
#define BLIS_CLUSTER_DELAY_H

#include <stdint.h>

#include "base/random.h"

/* Normally distributed, but not below 0. */
typedef struct blis_delay {
  double mean_us;
  double stddev_us;
} blis_delay;

/* 0 or more, in whole microseconds. No draw without deviation. */
int64_t blis_delay_draw(const blis_delay *delay, blis_random *random);

#endif
