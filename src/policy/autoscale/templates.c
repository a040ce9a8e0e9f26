/*
 * templates.c - the autoscalers of the macro-level plan: threshold, target-utilization, and
 * queue-depth. They read the mean of a signal over the ready instances, and enforce a minimum time
 * between changes.
 */
#include <math.h>
#include <stdio.h>

#include "policy/autoscale/autoscaler.h"
#include "policy/contract/entry.h"

typedef enum template_signal {
  SIGNAL_KV,
  SIGNAL_QUEUE,
  SIGNAL_BATCH,
  SIGNAL_REQUESTS
} template_signal;

static const char *const signal_names[] = {"KV utilization", "queue depth", "batch size",
                                           "requests"};

typedef struct state {
  double interval_s;
  uint32_t signal; /* template_signal */
  double up;
  double down;
  double target;
  double tolerance;
  double cooldown_s;
  char reason[160];
} state;

static double mean_of(const state *self, const blis_scale_context *context) {
  double sum = 0;
  for (size_t i = 0; i < context->instance_count; i++) {
    const blis_scale_instance *instance = &context->instances[i];
    const double values[] = {instance->kv_utilization, instance->queue_depth, instance->batch_size,
                             instance->queue_depth + instance->batch_size};
    sum += values[self->signal];
  }
  return sum / (double)context->instance_count;
}

/* Returns whether there are no metrics yet, or the last change was too recent. */
static bool is_waiting(const state *self, const blis_scale_context *context) {
  return context->instance_count == 0 ||
         (double)context->since_last_scale_us < self->cooldown_s * 1e6;
}

/* Adds or removes one replica. */
static void step_by(state *self, int64_t change, double value, double limit,
                    blis_scale_decision *decision) {
  decision->target += change;
  snprintf(self->reason, sizeof self->reason, "mean %s of %.3g against %.3g",
           signal_names[self->signal], value, limit);
  decision->reason = self->reason;
}

/* Adds or removes one replica if the value reaches or exceeds one of two bounds. */
static void decide_by_bounds(state *self, const blis_scale_context *context, bool is_at_bounds,
                             blis_scale_decision *decision) {
  if (is_waiting(self, context)) {
    return;
  }
  double value = mean_of(self, context);
  if (value > self->up || (is_at_bounds && value == self->up)) {
    step_by(self, 1, value, self->up, decision);
  } else if (value < self->down || (is_at_bounds && value == self->down)) {
    step_by(self, -1, value, self->down, decision);
  }
}

static blis_status decide_threshold(void *ud, const blis_scale_context *context,
                                    blis_scale_decision *decision, blis_error *error) {
  (void)error;
  decide_by_bounds(ud, context, true, decision);
  return BLIS_OK;
}

static blis_status decide_queue(void *ud, const blis_scale_context *context,
                                blis_scale_decision *decision, blis_error *error) {
  (void)error;
  decide_by_bounds(ud, context, false, decision);
  return BLIS_OK;
}

static blis_status decide_target(void *ud, const blis_scale_context *context,
                                 blis_scale_decision *decision, blis_error *error) {
  (void)error;
  state *self = ud;
  if (is_waiting(self, context)) {
    return BLIS_OK;
  }
  double value = mean_of(self, context);
  double ratio = value / self->target;
  if (fabs(ratio - 1) <= self->tolerance) {
    return BLIS_OK;
  }
  int64_t wanted = (int64_t)ceil((double)context->replicas * ratio);
  if (wanted != decision->target) {
    step_by(self, wanted - decision->target, value, self->target, decision);
  }
  return BLIS_OK;
}

/* Rejects swapped thresholds, which would cause alternating scale-up and scale-down. */
static blis_status init_steps(void *ud, blis_policy_setup *setup, blis_error *error) {
  const state *self = ud;
  if (self->down >= self->up) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "autoscaler %s: %g to scale down is not below %g to scale "
                     "up",
                     setup->entry->name, self->down, self->up);
  }
  return BLIS_OK;
}

static blis_status init_queue(void *ud, blis_policy_setup *setup, blis_error *error) {
  ((state *)ud)->signal = SIGNAL_QUEUE;
  return init_steps(ud, setup, error);
}

#define SIGNAL_PARAM                                                                               \
  BLIS__CHOICE(                                                                                    \
      "signal", "kv-utilization|queue-depth|batch-size|requests",                                  \
      "mean over ready instances that is compared; requests: queued and running. Without a "       \
      "signal and its limits: requests, see blis help defaults",                                   \
      BLIS__INTO(state, signal))
#define COOLDOWN_PARAM                                                                             \
  BLIS__NUMBER("cooldown_seconds", 0, 1e9, 60, "s", "least time between two changes",              \
               BLIS__INTO(state, cooldown_s))

static const blis_param_spec threshold_params[] = {
    SIGNAL_PARAM,
    BLIS__NUMBER("scale_up_threshold", 0, 1e9, 0.8, "", "one more at this value or a higher one",
                 BLIS__INTO(state, up)),
    BLIS__NUMBER("scale_down_threshold", 0, 1e9, 0.3, "", "one less at this value or a lower one",
                 BLIS__INTO(state, down)),
    COOLDOWN_PARAM,
    BLIS__SCALE_INTERVAL(state, 10),
};

static const blis_param_spec target_params[] = {
    SIGNAL_PARAM,
    BLIS__NUMBER("target", 1e-9, 1e9, 0.6, "", "value that is aimed at", BLIS__INTO(state, target)),
    BLIS__NUMBER("tolerance", 0, 1e9, 0.1, "", "ratio of value to target less 1 that is left alone",
                 BLIS__INTO(state, tolerance)),
    COOLDOWN_PARAM,
    BLIS__SCALE_INTERVAL(state, 10),
};

static const blis_param_spec queue_params[] = {
    BLIS__NUMBER("up", 0, 1e9, 10, "requests", "one more above this", BLIS__INTO(state, up)),
    BLIS__NUMBER("down", 0, 1e9, 1, "requests", "one less below this", BLIS__INTO(state, down)),
    COOLDOWN_PARAM,
    BLIS__SCALE_INTERVAL(state, 10),
};

#define PLAN "BLIS macro-level implementation plan"
#define AUTOSCALER(function)                                                                       \
  .kind = BLIS_POLICY_AUTOSCALER, .ops = &(const blis_autoscaler_ops){.decide = (function)},       \
  .state_size = sizeof(state)

const blis_policy_entry blis__autoscaler_threshold = {
    AUTOSCALER(decide_threshold),
    .name = "threshold",
    .summary = "one more above a mean utilization, one less below another",
    .source = PLAN,
    BLIS__PARAMS(threshold_params),
    .init = init_steps,
};

const blis_policy_entry blis__autoscaler_target_utilization = {
    AUTOSCALER(decide_target),
    .name = "target-utilization",
    .summary = "as many as bring the mean utilization to its target",
    .source = PLAN "; the formula is ours",
    BLIS__PARAMS(target_params),
};

const blis_policy_entry blis__autoscaler_queue_depth = {
    AUTOSCALER(decide_queue),
    .name = "queue-depth",
    .summary = "one more above a mean queue depth, one less below another",
    .source = PLAN "; the formula is ours",
    BLIS__PARAMS(queue_params),
    .init = init_queue,
};
