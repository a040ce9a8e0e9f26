#include "policy/autoscale/autoscaler.h"

#include <string.h>

#include "base/nearest.h"
#include "policy/contract/entry.h"

static const char *const metric_names[] = {
#define METRIC_NAME(id, name, unit, text) name,
    BLIS_SCALE_METRICS(METRIC_NAME)
#undef METRIC_NAME
};

const char *blis_scale_metric_name(blis_scale_metric metric) {
  return metric_names[metric];
}

blis_status blis_scale_metric_find(const char *name, blis_scale_metric *metric, blis_error *error) {
  for (int m = 0; m < BLIS_SCALE_METRIC_COUNT; m++) {
    if (strcmp(metric_names[m], name) == 0) {
      *metric = (blis_scale_metric)m;
      return BLIS_OK;
    }
  }
  blis_nearest nearest = {.wanted = name};
  for (int m = 0; m < BLIS_SCALE_METRIC_COUNT; m++) {
    blis_nearest_offer(&nearest, metric_names[m]);
  }
  blis_suggestion suggestion = blis_nearest_suggest(&nearest);
  return blis_fail(error, BLIS_ERR_INVALID, "unknown metric '%s'%s", name, suggestion.text);
}

const char *blis_scale_cause_name(blis_scale_cause cause) {
  static const char *const names[] = {"interval", "queue-depth", "slo-attainment"};
  return names[cause];
}

BLIS__POLICY_FREE(autoscaler)

/* Metrics that include waiting requests even if the pool has no instances. */
#define SEES_WAITING                                                                               \
  (BLIS_SCALE_BIT(BLIS_SCALE_GATEWAY_QUEUE_SIZE) | BLIS_SCALE_BIT(BLIS_SCALE_INFLIGHT_TOKENS) |    \
   BLIS_SCALE_BIT(BLIS_SCALE_POOL_SATURATION) | BLIS_SCALE_BIT(BLIS_SCALE_REQUEST_RATE) |          \
   BLIS_SCALE_NEEDS_FUTURE)

/* Returns whether the policy reads only ready instances. Without any, such a policy would never
   request an instance, nor keep a starting one. */
static bool is_blind_at_zero(const blis_autoscaler *autoscaler) {
  return (autoscaler->needs & SEES_WAITING) == 0;
}

static void keep_awake(const blis_autoscaler *autoscaler, const blis_scale_context *context,
                       blis_scale_decision *decision) {
  if (decision->target == 0 && context->metrics[BLIS_SCALE_GATEWAY_QUEUE_SIZE] > 0 &&
      is_blind_at_zero(autoscaler)) {
    decision->target = 1;
    decision->reason = "requests wait at the gateway";
  }
}

blis_status blis_autoscaler_decide(const blis_autoscaler *autoscaler,
                                   const blis_scale_context *context, blis_scale_decision *decision,
                                   int64_t *proposed, blis_error *error) {
  *decision =
      (blis_scale_decision){.target = context->replicas, .reason = "", .like = -1, .wish = -1};
  BLIS_TRY(autoscaler->ops->decide(autoscaler->state, context, decision, error));
  keep_awake(autoscaler, context, decision);
  *proposed = decision->target;
  decision->wish = decision->wish < 0 ? *proposed : decision->wish;
  if (decision->target < context->min) {
    decision->target = context->min;
  } else if (decision->target > context->max) {
    decision->target = context->max;
  }
  return BLIS_OK;
}
