/*
 * knative.h - one decision of Knative's pod autoscaler, based on the concurrency in its two
 * windows.
 *
 * Source: knative/serving pkg/autoscaler/scaling/autoscaler.go.
 */
#ifndef BLIS_POLICY_AUTOSCALE_KNATIVE_H
#define BLIS_POLICY_AUTOSCALE_KNATIVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct blis_knative_rules {
  double target; /* target concurrency per replica */
  double panic_threshold;
  double max_up_rate;
  double max_down_rate;
  int64_t stable_us;
} blis_knative_rules;

/* Initialize with {0}. */
typedef struct blis_knative_panic {
  bool is_on;
  int64_t until_us; /* end of panic mode: one stable window after its condition last held */
  double largest;   /* largest decision since panic mode began */
} blis_knative_panic;

typedef struct blis_knative_scale {
  int64_t target;
  bool is_panic;
} blis_knative_scale;

blis_knative_scale blis_knative_step(const blis_knative_rules *rules, blis_knative_panic *panic,
                                     int64_t now_us, double stable, double panicking,
                                     int64_t ready);

#endif
