/*
 * keda.c - autoscaler keda and llm-d's recipes for it: KEDA itself polls whether a trigger is
 * active, and moves a pool between 0 (or idle) and its minimum. Above the minimum, Kubernetes'
 * controller uses the values of the triggers.
 */
#include <math.h>

#include "policy/autoscale/hpa_loop.h"
#include "policy/autoscale/llmd_demand.h"

typedef struct state state;

/* The differences between the policies of this file. */
typedef struct recipe {
  const blis_scale_trigger *triggers; /* the default triggers */
  size_t trigger_count;
  /* Computes the number of replicas from metrics by one formula; NULL = triggers are used. */
  double (*composite)(state *self, const blis_scale_context *context);
  const char *composite_name;
  blis_scale_needs needs; /* inputs of composite */
} recipe;

enum { SLO_SAMPLES_MAX = 64 };

struct state {
  blis_hpa_loop loop;
  const recipe *rule;
  double polling_s;
  double cooldown_s;
  double initial_cooldown_s;
  double activation;
  int32_t idle; /* replicas; -1 = none */
  bool has_polled;
  int64_t created_us;
  int64_t next_poll_us;
  int64_t last_active_us; /* -1 = never */
  /* llm-d.guard */
  double queue_target;
  double running_target;
  /* llm-d.token-aware */
  double prefill_tokens_per_s;
  double backlog_s;
  double kv_target;
  /* llm-d.slo-aware: the most recent raw values, as a ring */
  double ttft_target_us;
  double tpot_target_us;
  double smoothing_s;
  double samples[SLO_SAMPLES_MAX];
  uint32_t sample_count;
};

/* 0 and 1 */

static bool is_active(const state *self, const blis_scale_context *context) {
  for (size_t i = 0; i < self->loop.trigger_count; i++) {
    if (blis_scale_value(context, self->loop.triggers[i].metric) > self->activation) {
      return true;
    }
  }
  return false;
}

/* Returns whether no trigger has been active for the cooldown period. */
static bool is_cold(const state *self, int64_t now_us) {
  return self->last_active_us < 0
             ? (double)(now_us - self->created_us) > self->initial_cooldown_s * 1e6
             : (double)(now_us - self->last_active_us) > self->cooldown_s * 1e6;
}

static void poll(state *self, const blis_scale_context *context, blis_scale_decision *decision) {
  int64_t replicas = context->replicas;
  bool has_idle = self->idle >= 0;
  if (is_active(self, context)) {
    self->last_active_us = context->now_us;
    if (replicas == 0 || (has_idle && replicas < context->min)) {
      decision->target = context->min > 0 ? context->min : 1;
      decision->reason = "a trigger is active";
    }
    return;
  }
  bool may_sleep = has_idle ? replicas > self->idle : replicas > 0 && context->min == 0;
  if (may_sleep) {
    if (is_cold(self, context->now_us)) {
      decision->target = has_idle ? self->idle : 0;
      decision->reason = "no trigger was active for the cooldown period";
    }
  } else if (!has_idle && replicas < context->min) {
    decision->target = context->min;
    decision->reason = "below the minimum";
  }
}

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  state *self = ud;
  if (!self->has_polled) {
    self->has_polled = true;
    self->created_us = self->next_poll_us = context->now_us;
  }
  if (context->now_us >= self->next_poll_us) {
    self->next_poll_us = context->now_us + llround(self->polling_s * 1e6);
    poll(self, context, decision);
  }
  if (decision->target != context->replicas || context->replicas == 0 ||
      (self->idle >= 0 && context->replicas <= (uint32_t)self->idle)) {
    return BLIS_OK;
  }
  int64_t min = context->min > 0 ? context->min : 1;
  if (self->rule->composite == NULL) {
    return blis_hpa_loop_sync(&self->loop, context, min, decision, error);
  }
  return blis_hpa_loop_sync_value(&self->loop, context, min, self->rule->composite_name,
                                  self->rule->composite(self, context), decision, error);
}

/* llm-d's formulas */

static double guarded_demand(state *self, const blis_scale_context *context) {
  double queued = blis_scale_value(context, BLIS_SCALE_GATEWAY_QUEUE_SIZE);
  double running = blis_scale_value(context, BLIS_SCALE_REQUESTS_RUNNING);
  double demand = fmax(queued / self->queue_target, running / self->running_target);
  return blis_llmd_guarded_demand(demand, context->replicas, context->ready);
}

/* Returns the larger of two demands: seconds of waiting prefill, and KV cache in use. */
static double token_demand(state *self, const blis_scale_context *context) {
  double backlog_s =
      blis_scale_value(context, BLIS_SCALE_INFLIGHT_TOKENS) / self->prefill_tokens_per_s;
  double by_prefill = backlog_s / self->backlog_s;
  double by_decode = blis_scale_value(context, BLIS_SCALE_KV_UTILIZATION) / self->kv_target;
  switch (context->role) {
  case BLIS_SCALE_PREFILL:
    return by_prefill;
  case BLIS_SCALE_DECODE:
    return by_decode;
  case BLIS_SCALE_BOTH:
    break;
  }
  return fmax(by_prefill, by_decode);
}

/* Returns the mean of the samples in the smoothing period, each clamped to at most 2. */
static double smoothed(state *self, double sample) {
  double span = self->smoothing_s / self->loop.interval_s;
  uint32_t window = span < 1 ? 1 : span > SLO_SAMPLES_MAX ? SLO_SAMPLES_MAX : (uint32_t)span;
  self->samples[self->sample_count++ % SLO_SAMPLES_MAX] = fmin(sample, 2);
  uint32_t used = self->sample_count < window ? self->sample_count : window;
  double sum = 0;
  for (uint32_t i = 1; i <= used; i++) {
    sum += self->samples[(self->sample_count - i) % SLO_SAMPLES_MAX];
  }
  return sum / used;
}

static double slo_demand(state *self, const blis_scale_context *context) {
  double share = fmax(blis_scale_value(context, BLIS_SCALE_TTFT_P90) / self->ttft_target_us,
                      blis_scale_value(context, BLIS_SCALE_TPOT_P90) / self->tpot_target_us);
  return blis_llmd_slo_demand(smoothed(self, share), context->replicas, context->ready);
}

static void free_state(const blis_alloc *alloc, void *ud) {
  (void)alloc;
  blis_hpa_loop_deinit(&((state *)ud)->loop);
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  state *self = ud;
  self->rule = setup->entry->rule;
  self->last_active_us = -1;
  BLIS_TRY(blis_hpa_loop_init(&self->loop, setup, self->rule->triggers, self->rule->trigger_count,
                              error));
  if (self->loop.trigger_count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "autoscaler %s: metrics is missing; it names the target "
                     "of each trigger, such as { requests_running = 16 }",
                     setup->entry->name);
  }
  setup->needs = blis_hpa_loop_needs(&self->loop) | self->rule->needs;
  return BLIS_OK;
}

#define POLLING_PARAMS(polling)                                                                    \
  BLIS__NUMBER("polling_seconds", 1e-3, 1e6, polling, "s",                                         \
               "between looks at whether a trigger is active", BLIS__INTO(state, polling_s)),      \
      BLIS__NUMBER("cooldown_seconds", 0, 1e9, 300, "s",                                           \
                   "time without an active trigger before the last instance is removed",           \
                   BLIS__INTO(state, cooldown_s)),                                                 \
      BLIS__NUMBER("initial_cooldown_seconds", 0, 1e9, 0, "s",                                     \
                   "the same where no trigger has been active yet",                                \
                   BLIS__INTO(state, initial_cooldown_s)),                                         \
      BLIS__NUMBER("activation", 0, 1e15, 0, "", "a trigger is active above this value",           \
                   BLIS__INTO(state, activation)),                                                 \
      BLIS__INTEGER("idle", -1, 1000000, -1, "instances",                                          \
                    "kept while nothing is active; -1 = the minimum", BLIS__INTO(state, idle)),    \
      BLIS__NUMBER("interval_seconds", 1e-3, 1e6, 15, "s", "between decisions",                    \
                   BLIS__INTO(state, loop.interval_s))

#define USUAL_UP BLIS__HPA_UP_PARAMS(state, loop, 0, 4, 15, 100, 15)
#define USUAL_DOWN BLIS__HPA_DOWN_PARAMS(state, loop, 300, 0, 0, 100, 15)

static const blis_param_spec keda_params[] = {
    BLIS__HPA_METRICS_PARAM("threshold of each trigger"),
    BLIS__HPA_TYPE_PARAM(state, loop),
    USUAL_UP,
    USUAL_DOWN,
    POLLING_PARAMS(30),
};

static const blis_param_spec recipe_params[] = {
    BLIS__HPA_METRICS_PARAM("other thresholds than the recipe's"),
    USUAL_UP,
    USUAL_DOWN,
    POLLING_PARAMS(15),
};

static const blis_param_spec guard_params[] = {
    BLIS__NUMBER("queue_target", 1e-9, 1e9, 1, "requests", "at the gateway, per instance",
                 BLIS__INTO(state, queue_target)),
    BLIS__NUMBER("running_target", 1e-9, 1e9, 16, "requests", "at instances, per instance",
                 BLIS__INTO(state, running_target)),
    BLIS__HPA_UP_PARAMS(state, loop, 0, 0, 0, 100, 15),
    USUAL_DOWN,
    POLLING_PARAMS(15),
};

static const blis_param_spec token_params[] = {
    BLIS__NUMBER("prefill_tokens_per_second", 1e-6, 1e12, 15928, "tokens/s",
                 "of one instance; the guide's is of Qwen3-32B on two H100",
                 BLIS__INTO(state, prefill_tokens_per_s)),
    BLIS__NUMBER("backlog_seconds", 1e-9, 1e9, 1.5, "s", "of prefill that wait, per instance",
                 BLIS__INTO(state, backlog_s)),
    BLIS__NUMBER("kv_target", 1e-9, 1, 0.8, "0 to 1", "KV cache in use",
                 BLIS__INTO(state, kv_target)),
    BLIS__HPA_UP_PARAMS(state, loop, 0, 1, 180, 0, 0),
    BLIS__HPA_DOWN_PARAMS(state, loop, 300, 1, 300, 0, 0),
    POLLING_PARAMS(15),
};

static const blis_param_spec slo_params[] = {
    BLIS__NUMBER("ttft_target_ms", 1e-3, 1e9, 500, "ms", "of the 90th percentile",
                 BLIS__INTO(state, ttft_target_us)),
    BLIS__NUMBER("tpot_target_ms", 1e-3, 1e9, 50, "ms", "of the 90th percentile",
                 BLIS__INTO(state, tpot_target_us)),
    BLIS__NUMBER("smoothing_seconds", 0, 960, 45, "s", "over which latencies are averaged",
                 BLIS__INTO(state, smoothing_s)),
    BLIS__HPA_UP_PARAMS(state, loop, 30, 4, 60, 100, 60),
    BLIS__HPA_DOWN_PARAMS(state, loop, 180, 1, 120, 0, 0),
    POLLING_PARAMS(15),
};

static blis_status init_slo(void *ud, blis_policy_setup *setup, blis_error *error) {
  state *self = ud;
  self->ttft_target_us *= 1000;
  self->tpot_target_us *= 1000;
  return init(ud, setup, error);
}

static const blis_scale_trigger queue_triggers[] = {{BLIS_SCALE_GATEWAY_QUEUE_SIZE, 1},
                                                    {BLIS_SCALE_REQUESTS_RUNNING, 16}};
static const blis_scale_trigger saturation_triggers[] = {{BLIS_SCALE_POOL_SATURATION, 0.7},
                                                         {BLIS_SCALE_REQUESTS_RUNNING, 16}};
static const blis_scale_trigger token_triggers[] = {{BLIS_SCALE_INFLIGHT_TOKENS, 1},
                                                    {BLIS_SCALE_KV_UTILIZATION, 0.8}};

#define QUEUE_NEEDS                                                                                \
  (BLIS_SCALE_BIT(BLIS_SCALE_GATEWAY_QUEUE_SIZE) | BLIS_SCALE_BIT(BLIS_SCALE_REQUESTS_RUNNING))

#define POLICY(function)                                                                           \
  .kind = BLIS_POLICY_AUTOSCALER,                                                                  \
  .ops = &(const blis_autoscaler_ops){.decide = decide, .free = free_state},                       \
  .state_size = sizeof(state), .init = (function)
#define GUIDES "llm-d guides/workload-autoscaling"

const blis_policy_entry blis__autoscaler_keda = {
    POLICY(init),
    .name = "keda",
    .summary = "KEDA's ScaledObject: to and from zero by whether a trigger is "
               "active, above that Kubernetes' controller on the triggers",
    .source = "kedacore/keda, pkg/scaling/executor",
    BLIS__PARAMS(keda_params),
    .rule = &(const recipe){0},
};

const blis_policy_entry blis__autoscaler_llmd_queue = {
    POLICY(init),
    .name = "llm-d.queue",
    .summary = "KEDA on requests at the gateway (1 per instance) and at "
               "instances (16)",
    .source = GUIDES "/keda-epp",
    BLIS__PARAMS(recipe_params),
    .rule = &(const recipe){.triggers = queue_triggers, .trigger_count = 2},
};

const blis_policy_entry blis__autoscaler_llmd_saturation = {
    POLICY(init),
    .name = "llm-d.saturation",
    .summary = "KEDA on the saturation of the pool (0.7, divided by its "
               "replicas) and requests at instances (16)",
    .source = GUIDES "/keda-epp, experimental",
    BLIS__PARAMS(recipe_params),
    .rule = &(const recipe){.triggers = saturation_triggers, .trigger_count = 2},
};

const blis_policy_entry blis__autoscaler_llmd_guard = {
    POLICY(init),
    .name = "llm-d.guard",
    .summary = "llm-d.queue as one formula, in which instances on their way "
               "count against the demand",
    .source = GUIDES "/keda-epp, guard variant",
    BLIS__PARAMS(guard_params),
    .rule = &(const recipe){.triggers = queue_triggers,
                            .trigger_count = 2,
                            .composite = guarded_demand,
                            .composite_name = "guarded demand",
                            .needs = QUEUE_NEEDS},
};

const blis_policy_entry blis__autoscaler_llmd_token_aware = {
    POLICY(init),
    .name = "llm-d.token-aware",
    .summary = "KEDA on seconds of prefill that wait and on KV cache in use, by "
               "the role of the pool",
    .source = GUIDES "/keda-epp-token-aware, experimental",
    BLIS__PARAMS(token_params),
    .rule = &(const recipe){.triggers = token_triggers,
                            .trigger_count = 2,
                            .composite = token_demand,
                            .composite_name = "demand of tokens",
                            .needs = BLIS_SCALE_BIT(BLIS_SCALE_INFLIGHT_TOKENS) |
                                     BLIS_SCALE_BIT(BLIS_SCALE_KV_UTILIZATION)},
};

const blis_policy_entry blis__autoscaler_llmd_slo_aware = {
    POLICY(init_slo),
    .name = "llm-d.slo-aware",
    .summary = "keeps the 90th percentiles of TTFT and TPOT at 40 to 55 % of "
               "their targets",
    .source = GUIDES "/slo-aware",
    BLIS__PARAMS(slo_params),
    .rule = &(const recipe){.triggers = queue_triggers,
                            .trigger_count = 2,
                            .composite = slo_demand,
                            .composite_name = "latency asks, demand",
                            .needs = BLIS_SCALE_BIT(BLIS_SCALE_TTFT_P90) |
                                     BLIS_SCALE_BIT(BLIS_SCALE_TPOT_P90)},
};
