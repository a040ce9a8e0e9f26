/*
 * dynamo_planner.c - autoscaler dynamo.planner: adds or removes one replica, based on the load of
 * each engine, within bounds set by a predicted load.
 */
#include <math.h>
#include <stdio.h>

#include "base/minmax.h"
#include "policy/autoscale/forecast.h"
#include "policy/autoscale/planner.h"
#include "policy/contract/entry.h"

typedef enum planner_target {
  TARGET_THROUGHPUT,
  TARGET_LATENCY,
  TARGET_LOAD,
  TARGET_SLA
} planner_target;

#define TARGET_WORDS "throughput|latency|load|sla"

/* Add a replica if any engine reaches `up`; remove one if all are below `down`. */
typedef struct thresholds {
  double up;
  double down;
} thresholds;

typedef struct state {
  double interval_s;
  uint32_t target; /* planner_target */
  uint32_t predictor;
  bool has_load_loop; /* used with target sla */
  double throughput_s;
  double ttft_us;
  double itl_us;
  double accept_length;
  double sensitivity;
  double prefill_up;
  double prefill_down;
  double decode_up;
  double decode_down;
  int64_t max_gpus;
  int64_t next_throughput_us;
  int64_t floor; /* minimum number of replicas, set by the throughput loop */
  blis_forecast rate;
  blis_forecast prompt;
  blis_forecast output;
  char reason[128];
} state;

typedef enum vote { VOTE_DOWN = -1, VOTE_STAY, VOTE_UP } vote;

/* Easy rules */

static thresholds prefill_thresholds(const state *self) {
  switch ((planner_target)self->target) {
  case TARGET_LATENCY:
    return (thresholds){0.1, 0};
  case TARGET_LOAD:
    return (thresholds){self->prefill_up, self->prefill_down};
  default:
    return (thresholds){1, 0.1};
  }
}

static thresholds decode_thresholds(const state *self) {
  switch ((planner_target)self->target) {
  case TARGET_LATENCY:
    return (thresholds){0.4, 0.1};
  case TARGET_LOAD:
    return (thresholds){self->decode_up, self->decode_down};
  default:
    return (thresholds){1, 0.6};
  }
}

/* With target load, prefill thresholds are in tokens; otherwise they are in prompts of the
   maximum length. */
static double prefill_load(const state *self, const blis_scale_instance *instance) {
  return self->target == TARGET_LOAD
             ? instance->queued_prefill_tokens
             : instance->queued_prefill_tokens / instance->context_length_tokens;
}

static double decode_load(const blis_scale_context *context, const blis_scale_instance *instance) {
  double tokens = instance->running_kv_tokens + instance->queued_kv_tokens;
  if (context->role == BLIS_SCALE_BOTH) {
    tokens += instance->queued_prefill_tokens;
  }
  return tokens / instance->kv_capacity_tokens;
}

static vote easy_vote(const state *self, const blis_scale_context *context) {
  bool is_prefill = context->role == BLIS_SCALE_PREFILL;
  thresholds limits = is_prefill ? prefill_thresholds(self) : decode_thresholds(self);
  bool is_calm = context->instance_count > 1;
  for (size_t i = 0; i < context->instance_count; i++) {
    const blis_scale_instance *instance = &context->instances[i];
    double load = is_prefill ? prefill_load(self, instance) : decode_load(context, instance);
    if (is_prefill ? load >= limits.up : load > limits.up) {
      return VOTE_UP;
    }
    // With a threshold of 0, no prefill tokens may be waiting.
    is_calm = is_calm && (limits.down > 0 ? load < limits.down : load <= 0);
  }
  return is_calm ? VOTE_DOWN : VOTE_STAY;
}

/* Target sla, the loop over loads */

static double prefill_us(const blis_scale_context *context, double tokens) {
  return context->model->step_us(context->model->state, fmax(tokens, 1), 0, 0);
}

/* Returns the ITL: the step time divided by the accepted tokens per step. */
static double decode_us(const state *self, const blis_scale_context *context,
                        const blis_scale_instance *instance, double tokens) {
  double requests = fmax(1, instance->batch_size);
  return context->model->step_us(context->model->state, 0, requests, tokens) / self->accept_length;
}

/* Scaling down changes n engines to n - 1; a single engine is kept. */
static vote prefill_vote(const state *self, const blis_scale_context *context) {
  double n = (double)context->instance_count;
  bool is_over = true;
  bool is_safe = n > 1;
  double prompt = fmax(blis_scale_value(context, BLIS_SCALE_PROMPT_TOKENS_MEAN), 1);
  double own_us = prefill_us(context, prompt);
  double slack_us = self->ttft_us - own_us;
  for (size_t i = 0; i < context->instance_count; i++) {
    double queued = context->instances[i].queued_prefill_tokens;
    is_over = is_over && prefill_us(context, queued + prompt) > self->ttft_us;
    is_safe =
        is_safe && slack_us > 0 &&
        prefill_us(context, queued * n / (n - 1) + prompt) - own_us < slack_us * self->sensitivity;
  }
  return is_over ? VOTE_UP : is_safe ? VOTE_DOWN : VOTE_STAY;
}

static vote decode_vote(const state *self, const blis_scale_context *context) {
  double n = (double)context->instance_count;
  bool is_over = true;
  bool is_safe = n > 1;
  for (size_t i = 0; i < context->instance_count; i++) {
    const blis_scale_instance *instance = &context->instances[i];
    double tokens = instance->running_kv_tokens + instance->queued_kv_tokens;
    double merged = tokens * n / (n - 1);
    is_over = is_over && decode_us(self, context, instance, tokens) > self->itl_us;
    is_safe = is_safe && merged < instance->kv_capacity_tokens &&
              decode_us(self, context, instance, merged) < self->itl_us * self->sensitivity;
  }
  return is_over ? VOTE_UP : is_safe ? VOTE_DOWN : VOTE_STAY;
}

static vote sla_vote(const state *self, const blis_scale_context *context) {
  switch (context->role) {
  case BLIS_SCALE_PREFILL:
    return prefill_vote(self, context);
  case BLIS_SCALE_DECODE:
    return decode_vote(self, context);
  case BLIS_SCALE_BOTH:
    break;
  }
  vote prefill = prefill_vote(self, context);
  vote decode = decode_vote(self, context);
  return prefill == VOTE_UP || decode == VOTE_UP       ? VOTE_UP
         : prefill == VOTE_DOWN && decode == VOTE_DOWN ? VOTE_DOWN
                                                       : VOTE_STAY;
}

/* Target sla, the loop over throughput */

static int64_t planned(const state *self, const blis_scale_context *context) {
  const blis_planner_load load = {
      .requests_per_s = blis_forecast_next(&self->rate),
      .prompt_tokens = blis_forecast_next(&self->prompt),
      .output_tokens = blis_forecast_next(&self->output),
      .ttft_us = self->ttft_us,
      .itl_us = self->itl_us,
      .kv_capacity_tokens = context->instances[0].kv_capacity_tokens,
      .requests_max = context->model->max_num_seqs,
      .accept_length = self->accept_length,
  };
  int64_t prefill =
      context->role == BLIS_SCALE_DECODE ? 1 : blis_planner_prefill(context->model, &load);
  int64_t decode =
      context->role == BLIS_SCALE_PREFILL ? 1 : blis_planner_decode(context->model, &load);
  return prefill > decode ? prefill : decode;
}

static void plan(state *self, const blis_scale_context *context) {
  blis_forecast_add(&self->rate, blis_scale_value(context, BLIS_SCALE_REQUEST_RATE));
  blis_forecast_add(&self->prompt, blis_scale_value(context, BLIS_SCALE_PROMPT_TOKENS_MEAN));
  blis_forecast_add(&self->output, blis_scale_value(context, BLIS_SCALE_OUTPUT_TOKENS_MEAN));
  if (context->now_us < self->next_throughput_us) {
    return;
  }
  self->next_throughput_us = context->now_us + llround(self->throughput_s * 1e6);
  if (self->rate.has_begun) {
    self->floor = planned(self, context);
  }
}

/* Decisions */

static void settle(state *self, vote voted, blis_scale_decision *decision) {
  decision->target += voted;
  const char *word = voted == VOTE_UP     ? "load asks for one more"
                     : voted == VOTE_DOWN ? "load allows one less"
                                          : "";
  if (self->target == TARGET_SLA && !self->has_load_loop && self->floor > 0) {
    decision->target = self->floor;
    word = "predicted load";
  } else if (decision->target < self->floor) {
    decision->target = self->floor;
    word = "predicted load asks for at least as many";
  }
  snprintf(self->reason, sizeof self->reason, "%s", word);
  decision->reason = self->reason;
}

static void decide_alone(state *self, const blis_scale_context *context,
                         blis_scale_decision *decision) {
  if (context->instance_count == 0) {
    return;
  }
  if (self->target == TARGET_SLA && context->model == NULL) {
    decision->off = "step times are a function of the script, which target "
                    "sla cannot ask: nothing is scaled";
    return;
  }
  if (self->target == TARGET_SLA) {
    plan(self, context);
  }
  // While replicas are starting or draining, the planner only observes.
  if (context->replicas != context->ready) {
    return;
  }
  vote voted = VOTE_STAY;
  if (self->target != TARGET_SLA) {
    voted = easy_vote(self, context);
  } else if (self->has_load_loop) {
    voted = sla_vote(self, context);
  }
  settle(self, voted, decision);
}

/* A budget of GPUs */

static int64_t gpus_of(const blis_scale_pool *pool) {
  return pool->gpus < 1 ? 1 : (int64_t)pool->gpus;
}

/* Divides the budget between the targets of both pools. The result depends on which of the two
   is prefill. */
static int64_t shared(const state *self, const blis_scale_context *context, int64_t wanted) {
  const blis_scale_pool *own = context->own;
  const blis_scale_pool *other = context->other;
  if (other == NULL) {
    return blis_min_i64(wanted, self->max_gpus / gpus_of(own));
  }
  bool is_prefill = context->role == BLIS_SCALE_PREFILL;
  const blis_planner_sides sides = blis_planner_sides_of(context);
  blis_planner_pools both = blis_planner_share_budget(
      (blis_planner_pools){is_prefill ? wanted : other->wish, is_prefill ? other->wish : wanted},
      (blis_planner_pools){gpus_of(sides.prefill), gpus_of(sides.decode)},
      (blis_planner_pools){sides.prefill->min, sides.decode->min}, self->max_gpus);
  return is_prefill ? both.prefill : both.decode;
}

static int64_t free_for(const state *self, const blis_scale_context *context) {
  const blis_scale_pool *other = context->other;
  return blis_planner_free(context, (double)self->max_gpus, (double)gpus_of(context->own),
                           other == NULL ? 0 : (double)gpus_of(other));
}

static void keep_budget(const state *self, const blis_scale_context *context,
                        blis_scale_decision *decision) {
  decision->wish = blis_max_i64(context->min, blis_min_i64(decision->target, context->max));
  int64_t allowed = blis_min_i64(shared(self, context, decision->wish), free_for(self, context));
  if (allowed < decision->target) {
    decision->target = allowed;
    decision->reason = "max_gpus allows no more";
  }
}

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  (void)error;
  state *self = ud;
  decide_alone(self, context, decision);
  if (self->max_gpus > 0 && context->own != NULL) {
    keep_budget(self, context, decision);
  }
  return BLIS_OK;
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  state *self = ud;
  setup->needs = BLIS_SCALE_NEEDS_QUEUED_TOKENS;
  setup->needs |= self->max_gpus > 0 ? BLIS_SCALE_NEEDS_POOLS : 0;
  if (self->target == TARGET_SLA) {
    setup->needs |= BLIS_SCALE_BIT(BLIS_SCALE_REQUEST_RATE) |
                    BLIS_SCALE_BIT(BLIS_SCALE_PROMPT_TOKENS_MEAN) |
                    BLIS_SCALE_BIT(BLIS_SCALE_OUTPUT_TOKENS_MEAN);
  }
  self->rate.kind = self->prompt.kind = self->output.kind = (blis_forecast_kind)self->predictor;
  self->ttft_us *= 1000;
  self->itl_us *= 1000;
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__CHOICE("optimization_target", TARGET_WORDS,
                 "what scales: easy rules for throughput, latency or thresholds "
                 "of one's own (load), or promised latencies (sla)",
                 BLIS__INTO(state, target)),
    BLIS__NUMBER("ttft_ms", 1e-3, 1e9, 500, "ms", "sla: promised TTFT", BLIS__INTO(state, ttft_us)),
    BLIS__NUMBER("itl_ms", 1e-3, 1e9, 50, "ms", "sla: promised ITL", BLIS__INTO(state, itl_us)),
    BLIS__NUMBER("accept_length", 1, 100, 1, "tokens",
                 "sla: tokens that a decode step gives a request, with drafts "
                 "(speculative_nextn); ITL is the step's time by it",
                 BLIS__INTO(state, accept_length)),
    BLIS__BOOLEAN("load_scaling", 0, "sla: also one more or one less by the load of each engine",
                  BLIS__INTO(state, has_load_loop)),
    BLIS__NUMBER("sensitivity", 0, 1, 0.8, "0 to 1",
                 "sla: share of the promise that must be left after scaling "
                 "down",
                 BLIS__INTO(state, sensitivity)),
    BLIS__NUMBER("throughput_interval_seconds", 1e-3, 1e6, 180, "s",
                 "sla: between plans for a predicted load", BLIS__INTO(state, throughput_s)),
    BLIS__CHOICE("predictor", BLIS__FORECAST_WORDS, "sla: how the load is predicted",
                 BLIS__INTO(state, predictor)),
    BLIS__NUMBER("prefill_scale_up_queue_tokens", 0, 1e15, 4096, "tokens",
                 "load: one more prefill instance from this queue on",
                 BLIS__INTO(state, prefill_up)),
    BLIS__NUMBER("prefill_scale_down_queue_tokens", 0, 1e15, 256, "tokens",
                 "load: one less where every queue is below", BLIS__INTO(state, prefill_down)),
    BLIS__NUMBER("decode_scale_up_kv_rate", 0, 100, 0.9, "",
                 "load: one more decode instance above this share of KV cache",
                 BLIS__INTO(state, decode_up)),
    BLIS__NUMBER("decode_scale_down_kv_rate", 0, 100, 0.5, "",
                 "load: one less where every share is below", BLIS__INTO(state, decode_down)),
    BLIS__INTEGER("max_gpus", 0, 1e9, 0, "GPUs",
                  "of both pools together, shared by what they want; 0 = any",
                  BLIS__INTO(state, max_gpus)),
    BLIS__SCALE_INTERVAL(state, 5),
};

const blis_policy_entry blis__autoscaler_dynamo_planner = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "dynamo.planner",
    .summary = "Dynamo's planner: one more or one less by the load of each "
               "engine, or as many as a predicted load needs",
    .source = "ai-dynamo/dynamo components/src/dynamo/planner/core",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide},
    .state_size = sizeof(state),
    .init = init,
};
