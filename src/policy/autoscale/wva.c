/*
 * wva.c - autoscaler llm-d.wva: applies the margins of the legacy workload variant autoscaler to
 * instances that are not saturated.
 */
#include <stdio.h>

#include "policy/autoscale/autoscaler.h"
#include "policy/contract/entry.h"

typedef struct state {
  double interval_s;
  double kv_limit;
  double queue_limit;
  double spare_kv;
  double spare_queue;
  char reason[128];
} state;

/* Mean free capacity below the limits, over instances that are within the limits. */
typedef struct room {
  double kv;
  double queue;
  size_t count;
} room;

/* Computes the free capacity with each instance's load multiplied by factor, as if there were
   fewer instances. */
static room room_of(const state *self, const blis_scale_context *context, double factor) {
  room sum = {0};
  for (size_t i = 0; i < context->instance_count; i++) {
    double kv = context->instances[i].kv_utilization * factor;
    double queue = context->instances[i].queue_depth * factor;
    if (kv < self->kv_limit && queue < self->queue_limit) {
      sum.kv += self->kv_limit - kv;
      sum.queue += self->queue_limit - queue;
      sum.count++;
    }
  }
  if (sum.count > 0) {
    sum.kv /= (double)sum.count;
    sum.queue /= (double)sum.count;
  }
  return sum;
}

static bool is_tight(const state *self, const room *spare) {
  return spare->count == 0 || spare->kv < self->spare_kv || spare->queue < self->spare_queue;
}

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  (void)error;
  state *self = ud;
  if (context->instance_count == 0 || context->replicas != context->ready) {
    return BLIS_OK;
  }
  double n = (double)context->instance_count;
  room spare = room_of(self, context, 1);
  if (is_tight(self, &spare)) {
    decision->target++;
  } else if (n > 1) {
    spare = room_of(self, context, n / (n - 1));
    if (spare.count == context->instance_count && !is_tight(self, &spare)) {
      decision->target--;
    }
  }
  snprintf(self->reason, sizeof self->reason, "spare KV %.3g, spare queue %.3g", spare.kv,
           spare.queue);
  decision->reason = self->reason;
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__NUMBER("kv_limit", 1e-9, 1, 0.8, "0 to 1",
                 "KV utilization from which an instance is saturated", BLIS__INTO(state, kv_limit)),
    BLIS__NUMBER("queue_limit", 1e-9, 1e9, 5, "requests",
                 "queue depth from which an instance is saturated", BLIS__INTO(state, queue_limit)),
    BLIS__NUMBER("spare_kv", 0, 1, 0.1, "0 to 1", "one more below this mean room",
                 BLIS__INTO(state, spare_kv)),
    BLIS__NUMBER("spare_queue", 0, 1e9, 3, "requests", "one more below this mean room",
                 BLIS__INTO(state, spare_queue)),
    BLIS__SCALE_INTERVAL(state, 60),
};

const blis_policy_entry blis__autoscaler_llmd_wva = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "llm-d.wva",
    .summary = "one more where the mean room of unsaturated instances is "
               "small, one less where it would not be without one",
    .source = "llm-d workload variant autoscaler, version 1 (deprecated)",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide},
    .state_size = sizeof(state),
};
