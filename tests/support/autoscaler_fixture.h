/*
 * autoscaler_fixture.h - autoscalers of the registry, and pools to show them.
 */
#ifndef BLIS_AUTOSCALER_FIXTURE_H
#define BLIS_AUTOSCALER_FIXTURE_H

#include <math.h>

#include "base/time.h"
#include "check.h"
#include "policy/registry.h"

static inline const blis_alloc *heap(void) {
  static blis_alloc alloc;
  alloc = blis_alloc_heap();
  return &alloc;
}

static inline double linear_step_us(void *ud, double prefill_tokens, double requests,
                                    double kv_tokens) {
  (void)ud;
  CHECK(isfinite(prefill_tokens) && isfinite(kv_tokens));
  return 5000 + 50 * prefill_tokens + 10 * requests + 0.01 * kv_tokens;
}

typedef struct asked {
  blis_autoscaler policy;
  blis_scale_instance instances[64];
  blis_scale_pool pools[2];
  blis_scale_context context;
} asked;

/* One request a second for 100 s, and ten a second for 10 s from 50 s on. */
static inline const blis_scale_future *a_surge(void) {
  static blis_scale_arrival arrivals[200];
  static blis_scale_future future = {.arrivals = arrivals};
  future.count = 0;
  for (int64_t s = 0; s < 100; s++) {
    for (int64_t k = 0; k < (s >= 50 && s < 60 ? 10 : 1); k++) {
      arrivals[future.count++] = (blis_scale_arrival){
          .time_us = s * 1000000 + k * 100000, .prompt_tokens = 100, .output_tokens = 100};
    }
  }
  return &future;
}

static inline void make(asked *a, const char *name, const blis_param *items, size_t count) {
  const blis_params params = {items, count};
  const blis_policy_context context = {.instance_count = 1};
  blis_error error;
  CHECK_OK(blis_autoscaler_create(heap(), name, &params, &context, &a->policy, &error), &error);
  a->context = (blis_scale_context){.min = 1,
                                    .max = 100,
                                    .since_last_scale_us = BLIS_TIME_NEVER_US,
                                    .collected = a->policy.needs,
                                    .future = a_surge(),
                                    .instances = a->instances};
}

/* With that many replicas, all of them ready and alike. */
static inline void show(asked *a, uint32_t replicas, blis_scale_instance like) {
  a->context.replicas = a->context.ready = replicas;
  a->context.instance_count = replicas;
  for (uint32_t i = 0; i < replicas; i++) {
    a->instances[i] = like;
    a->instances[i].id = i;
  }
}

static inline int64_t target_of(asked *a) {
  blis_scale_decision decision;
  int64_t proposed;
  blis_error error;
  CHECK_OK(blis_autoscaler_decide(&a->policy, &a->context, &decision, &proposed, &error), &error);
  CHECK(decision.reason != NULL);
  CHECK(decision.target >= a->context.min && decision.target <= a->context.max);
  return decision.target;
}

#endif
