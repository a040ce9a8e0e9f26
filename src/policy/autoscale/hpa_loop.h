/*
 * hpa_loop.h - shared parts of the autoscalers that use Kubernetes' HorizontalPodAutoscaler:
 * metrics with targets, the controller's rules and state, and the parameters.
 */
#ifndef BLIS_POLICY_AUTOSCALE_HPA_LOOP_H
#define BLIS_POLICY_AUTOSCALE_HPA_LOOP_H

#include "policy/autoscale/autoscaler.h"
#include "policy/autoscale/hpa.h"
#include "policy/contract/entry.h"

typedef struct blis_scale_trigger {
  blis_scale_metric metric;
  double target;
} blis_scale_trigger;

typedef struct blis_hpa_loop {
  double interval_s;
  uint32_t type; /* blis_hpa_type */
  blis_hpa_rules rules;
  blis_scale_trigger triggers[BLIS_SCALE_METRIC_COUNT];
  size_t trigger_count;
  blis_hpa hpa;
  blis_alloc alloc;
  char reason[160];
} blis_hpa_loop;

/* How the value of a metric is compared with its target. */
typedef enum blis_hpa_type {
  BLIS_HPA_AVERAGE_VALUE, /* value of the pool, divided by its replicas */
  BLIS_HPA_VALUE,         /* value of the pool, as a ratio to the target */
  BLIS_HPA_PODS           /* mean of the values of the instances */
} blis_hpa_type;

/*
 * For init: stores the allocator and the triggers of parameter "metrics", or the default triggers.
 * Returns BLIS_ERR_INVALID if there are no triggers, if a metric is unknown, and if type `pods` has
 * a metric that is not per instance.
 */
BLIS_MUSTUSE blis_status blis_hpa_loop_init(blis_hpa_loop *loop, const blis_policy_setup *setup,
                                            const blis_scale_trigger *usual, size_t usual_count,
                                            blis_error *error);

/* Returns the inputs of the loop's triggers. */
blis_scale_needs blis_hpa_loop_needs(const blis_hpa_loop *loop);

void blis_hpa_loop_deinit(blis_hpa_loop *loop);

/*
 * Executes one sync. The largest proposal of the triggers is used, and its trigger is the reason.
 * min is the minimum of the controller.
 */
BLIS_MUSTUSE blis_status blis_hpa_loop_sync(blis_hpa_loop *loop, const blis_scale_context *context,
                                            int64_t min, blis_scale_decision *decision,
                                            blis_error *error);

/* Executes one sync with a single value, whose target is 1 per replica, instead of the triggers. */
BLIS_MUSTUSE blis_status blis_hpa_loop_sync_value(blis_hpa_loop *loop,
                                                  const blis_scale_context *context, int64_t min,
                                                  const char *what, double value,
                                                  blis_scale_decision *decision, blis_error *error);

/* Parameters of a policy whose state has the member `loop`. */
#define BLIS__HPA_SECONDS(name, usual, text, type, into)                                           \
  BLIS__NUMBER(name, 0, 1e6, usual, "s", text, BLIS__INTO(type, into))
#define BLIS__HPA_COUNT(name, unit, usual, text, type, into)                                       \
  BLIS__NUMBER(name, 0, 1e6, usual, unit, text, BLIS__INTO(type, into))

#define BLIS__HPA_UP_PARAMS(type, loop, window, of_pods, pods_s, of_percent, percent_s)            \
  BLIS__HPA_SECONDS("up_window_seconds", window, "stabilization window of scaling up", type,       \
                    loop.rules.up.window_s),                                                       \
      BLIS__CHOICE("up_select", "max|min|disabled", "which policy counts for scaling up",          \
                   BLIS__INTO(type, loop.rules.up.select)),                                        \
      BLIS__HPA_COUNT("up_pods", "instances", of_pods, "most to add in a period", type,            \
                      loop.rules.up.pods),                                                         \
      BLIS__HPA_SECONDS("up_pods_period_seconds", pods_s, "period of up_pods; 0 = no such policy", \
                        type, loop.rules.up.pods_period_s),                                        \
      BLIS__HPA_COUNT("up_percent", "%", of_percent, "largest share to add in a period", type,     \
                      loop.rules.up.percent),                                                      \
      BLIS__HPA_SECONDS("up_percent_period_seconds", percent_s,                                    \
                        "period of up_percent; 0 = no such policy", type,                          \
                        loop.rules.up.percent_period_s),                                           \
      BLIS__NUMBER("up_tolerance", 0, 10, 0.1, "",                                                 \
                   "excess that is left alone, as a share of the target",                          \
                   BLIS__INTO(type, loop.rules.up.tolerance))

#define BLIS__HPA_DOWN_PARAMS(type, loop, window, of_pods, pods_s, of_percent, percent_s)          \
  BLIS__HPA_SECONDS("down_window_seconds", window, "stabilization window of scaling down", type,   \
                    loop.rules.down.window_s),                                                     \
      BLIS__CHOICE("down_select", "max|min|disabled", "which policy counts for scaling down",      \
                   BLIS__INTO(type, loop.rules.down.select)),                                      \
      BLIS__HPA_COUNT("down_pods", "instances", of_pods, "most to take away in a period", type,    \
                      loop.rules.down.pods),                                                       \
      BLIS__HPA_SECONDS("down_pods_period_seconds", pods_s,                                        \
                        "period of down_pods; 0 = no such policy", type,                           \
                        loop.rules.down.pods_period_s),                                            \
      BLIS__HPA_COUNT("down_percent", "%", of_percent, "largest share to take away in a period",   \
                      type, loop.rules.down.percent),                                              \
      BLIS__HPA_SECONDS("down_percent_period_seconds", percent_s,                                  \
                        "period of down_percent; 0 = no such policy", type,                        \
                        loop.rules.down.percent_period_s),                                         \
      BLIS__NUMBER("down_tolerance", 0, 1, 0.1, "",                                                \
                   "shortfall that is left alone, as a share of the target",                       \
                   BLIS__INTO(type, loop.rules.down.tolerance))

#define BLIS__HPA_METRICS_PARAM(text) BLIS__TABLE("metrics", 1e-9, 1e15, "", text)
#define BLIS__HPA_TYPE_PARAM(owner, loop)                                                          \
  BLIS__CHOICE("metric_type", "average-value|value|pods",                                          \
               "how a metric is held against its target: shared by all "                           \
               "replicas, as a ratio, or as the mean of each one's",                               \
               BLIS__INTO(owner, loop.type))

#endif
