/*
 * knative.c - autoscaler knative: uses the concurrency over a stable window, and in panic mode over
 * a short window.
 */
#include "policy/autoscale/knative.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "policy/autoscale/autoscaler.h"
#include "policy/autoscale/history.h"
#include "policy/contract/entry.h"

typedef struct state {
  double interval_s;
  double container_concurrency;
  double utilization;
  double stable_s;
  double panic_share;
  double panic_threshold;
  double max_up_rate;
  double max_down_rate;
  double zero_grace_s;
  blis_alloc alloc;
  blis_scale_history samples; /* samples of concurrency */
  blis_knative_panic panic;
  int64_t idle_since_us; /* -1 = not idle */
  char reason[128];
} state;

blis_knative_scale blis_knative_step(const blis_knative_rules *rules, blis_knative_panic *panic,
                                     int64_t now_us, double stable, double panicking,
                                     int64_t ready) {
  double serving = ready > 1 ? (double)ready : 1;
  double most = ceil(rules->max_up_rate * serving);
  double least = floor(serving / rules->max_down_rate);
  double by_panic = ceil(panicking / rules->target);
  double wanted = fmin(fmax(ceil(stable / rules->target), least), most);
  double wanted_fast = fmin(fmax(by_panic, least), most);
  if (by_panic / serving >= rules->panic_threshold) {
    panic->is_on = true;
    panic->until_us = now_us + rules->stable_us;
  } else if (panic->is_on && now_us >= panic->until_us) {
    *panic = (blis_knative_panic){0};
  }
  if (panic->is_on) {
    wanted = fmax(fmax(wanted, wanted_fast), panic->largest);
    panic->largest = wanted;
  }
  return (blis_knative_scale){.target = (int64_t)wanted, .is_panic = panic->is_on};
}

/* Returns the mean of the samples in the window that ends now. The newest sample was taken now. */
static double mean_over(const state *self, int64_t now_us, double window_s) {
  int64_t since_us = blis_scale_window_start_us(now_us, window_s);
  double sum = 0;
  size_t count = 0;
  for (size_t i = self->samples.count; i-- > 0;) {
    if (self->samples.items[i].time_us <= since_us) {
      break;
    }
    sum += self->samples.items[i].value;
    count++;
  }
  return count == 0 ? 0 : sum / (double)count;
}

static blis_status take_sample(state *self, const blis_scale_context *context) {
  double concurrency = blis_scale_value(context, BLIS_SCALE_GATEWAY_QUEUE_SIZE) +
                       blis_scale_value(context, BLIS_SCALE_REQUESTS_RUNNING);
  return blis_scale_history_add(&self->samples, &self->alloc, context->now_us, self->stable_s,
                                concurrency);
}

/* Keeps the last instance for the grace period. */
static int64_t with_grace(state *self, const blis_scale_context *context, int64_t target) {
  if (target > 0) {
    self->idle_since_us = -1;
    return target;
  }
  if (self->idle_since_us < 0) {
    self->idle_since_us = context->now_us;
  }
  double idle_us = (double)(context->now_us - self->idle_since_us);
  return idle_us < self->zero_grace_s * 1e6 && context->replicas > 0 ? 1 : 0;
}

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  state *self = ud;
  BLIS_TRY_MEM(take_sample(self, context), error);
  const blis_knative_rules rules = {
      .target = self->container_concurrency * self->utilization,
      .panic_threshold = self->panic_threshold,
      .max_up_rate = self->max_up_rate,
      .max_down_rate = self->max_down_rate,
      .stable_us = llround(self->stable_s * 1e6),
  };
  double stable = mean_over(self, context->now_us, self->stable_s);
  double panicking = mean_over(self, context->now_us, self->stable_s * self->panic_share);
  blis_knative_scale scale =
      blis_knative_step(&rules, &self->panic, context->now_us, stable, panicking, context->ready);
  decision->target = with_grace(self, context, scale.target);
  snprintf(self->reason, sizeof self->reason,
           "concurrency %.4g over the stable window, %.4g over the panic "
           "window%s",
           stable, panicking, scale.is_panic ? ": panic" : "");
  decision->reason = self->reason;
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *ud) {
  state *self = ud;
  blis_array_deinit(alloc, &self->samples);
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  state *self = ud;
  self->alloc = *setup->alloc;
  self->idle_since_us = -1;
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__NUMBER("container_concurrency", 1e-9, 1e9, 100, "requests",
                 "maximum concurrent requests per replica",
                 BLIS__INTO(state, container_concurrency)),
    BLIS__NUMBER("target_utilization", 1e-9, 1, 0.7, "0 to 1", "share of it that is aimed at",
                 BLIS__INTO(state, utilization)),
    BLIS__NUMBER("stable_window_seconds", 6, 3600, 60, "s", "over which concurrency is averaged",
                 BLIS__INTO(state, stable_s)),
    BLIS__NUMBER("panic_window_share", 0.01, 1, 0.1, "0 to 1",
                 "length of the panic window in the stable one's", BLIS__INTO(state, panic_share)),
    BLIS__NUMBER("panic_threshold", 1.1, 10, 2, "",
                 "panic where the panic window asks for this many times the "
                 "ready replicas",
                 BLIS__INTO(state, panic_threshold)),
    BLIS__NUMBER("max_scale_up_rate", 1.01, 1e9, 1000, "",
                 "most replicas of a decision, per ready one", BLIS__INTO(state, max_up_rate)),
    BLIS__NUMBER("max_scale_down_rate", 1.01, 1e9, 2, "",
                 "ready replicas per least replicas of a decision",
                 BLIS__INTO(state, max_down_rate)),
    BLIS__NUMBER("scale_to_zero_grace_seconds", 0, 1e9, 30, "s", "that the last replica stays",
                 BLIS__INTO(state, zero_grace_s)),
    BLIS__SCALE_INTERVAL(state, 2),
};

const blis_policy_entry blis__autoscaler_knative = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "knative",
    .summary = "concurrency per replica over a stable window, and over a short "
               "one in a panic, in which it never goes down",
    .source = "Knative Serving, pkg/autoscaler/scaling/autoscaler.go",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide, .free = free_state},
    .state_size = sizeof(state),
    .needs =
        BLIS_SCALE_BIT(BLIS_SCALE_GATEWAY_QUEUE_SIZE) | BLIS_SCALE_BIT(BLIS_SCALE_REQUESTS_RUNNING),
    .init = init,
};
