/*
 * dynamo_power.c - autoscaler dynamo.power: as many prefill and decode replicas as
 * a power budget allows. The estimates of GPU power are corrected by measurements.
 *
 * Each pool has its own policy, which plans for both pools and applies its part of the plan. If
 * both are evaluated at the same time, their plans are equal. If they are evaluated at different
 * times, their inputs, corrections, and plans differ. A pool therefore grows only within the unused
 * budget.
 */
#include <math.h>
#include <stdio.h>

#include "policy/autoscale/power_plan.h"
#include "policy/contract/entry.h"

/* One side of the plan: prefill or decode. */
typedef struct side {
  double watts;      /* estimated power draw of a GPU */
  double correction; /* correction of watts */
} side;

/* Load that one prefill and one decode engine can serve, according to their step times. */
typedef struct estimate {
  double ttft_us;
  double itl_us;
  double requests_per_s; /* request rate of a decode replica */
} estimate;

typedef struct state {
  double interval_s;
  double budget_watts;
  double ttft_target_us;
  double itl_target_us;
  uint32_t misses_max; /* number of consecutive misses that cause a new plan */
  double threshold;
  double gap_s;
  side prefill;
  side decode;
  double ttft_correction;
  double itl_correction;
  double prompt_tokens; /* mean prompt length of recent requests; 0 = unknown */
  double output_tokens;
  uint32_t misses;
  bool is_off;   /* the first plan did not meet the targets */
  bool has_plan; /* the members below describe the plan */
  int64_t planned_us;
  estimate planned;
  blis_planner_pools pools;
  char reason[160];
} state;

static bool has_requests(const blis_scale_context *context) {
  return blis_scale_value(context, BLIS_SCALE_REQUEST_RATE) > 0;
}

/* Estimates and corrections */

static void note_lengths(state *self, const blis_scale_context *context) {
  double prompt = blis_scale_value(context, BLIS_SCALE_PROMPT_TOKENS_MEAN);
  double output = blis_scale_value(context, BLIS_SCALE_OUTPUT_TOKENS_MEAN);
  self->prompt_tokens = prompt > 0 ? prompt : self->prompt_tokens;
  self->output_tokens = output > 0 ? output : self->output_tokens;
}

static void correct_power(side *s, double observed) {
  if (observed >= 0 && s->watts > 0) {
    s->correction = blis_power_correct(s->correction, observed, s->watts);
  }
}

static void correct_time(double *correction, double observed_us, double estimated_us) {
  if (observed_us > 0) {
    *correction = blis_power_correct(*correction, observed_us, estimated_us);
  }
}

/* Corrects the estimated latencies of the current plan. */
static void correct(state *self, const blis_scale_context *context) {
  const blis_planner_sides sides = blis_planner_sides_of(context);
  correct_power(&self->prefill, sides.prefill->prefill_watts);
  correct_power(&self->decode, sides.decode->decode_watts);
  if (self->has_plan && has_requests(context)) {
    correct_time(&self->ttft_correction, blis_scale_value(context, BLIS_SCALE_TTFT_P90),
                 self->planned.ttft_us);
    correct_time(&self->itl_correction, blis_scale_value(context, BLIS_SCALE_TPOT_P90),
                 self->planned.itl_us);
  }
}

/* Uses the largest batch that meets the corrected ITL target. */
static estimate estimate_of(const state *self, const blis_scale_model *prefill,
                            const blis_scale_model *decode) {
  const blis_planner_load load = {.prompt_tokens = self->prompt_tokens,
                                  .output_tokens = self->output_tokens,
                                  .itl_us = self->itl_target_us /
                                            blis_power_tightening(self->itl_correction),
                                  .kv_capacity_tokens = decode->kv_capacity_tokens,
                                  .requests_max = decode->max_num_seqs};
  double batch = blis_planner_batch(decode, &load);
  double itl_us = blis_planner_itl_us(decode, &load, batch);
  return (estimate){.ttft_us = prefill->step_us(prefill->state, load.prompt_tokens, 0, 0),
                    .itl_us = itl_us,
                    .requests_per_s = batch * 1e6 / (itl_us * load.output_tokens)};
}

static bool keeps_targets(const state *self, const estimate *made) {
  return made->ttft_us * blis_power_tightening(self->ttft_correction) <= self->ttft_target_us &&
         made->itl_us * blis_power_tightening(self->itl_correction) <= self->itl_target_us;
}

/* Plans */

static double cap_of(const side *s) {
  return blis_power_cap(s->watts, s->correction);
}

static blis_power_pool limits(const blis_scale_pool *pool, double cap_watts) {
  return (blis_power_pool){
      .replica_watts = cap_watts * pool->gpus,
      .min = pool->min,
      .max = pool->max,
  };
}

static void say_pools(state *self, double prefill_cap, double decode_cap) {
  if (self->budget_watts > 0) {
    snprintf(self->reason, sizeof self->reason,
             "%.15g W allow %lld prefill and %lld decode replicas, of %.0f and "
             "%.0f W a GPU",
             self->budget_watts, (long long)self->pools.prefill, (long long)self->pools.decode,
             prefill_cap, decode_cap);
  } else {
    snprintf(self->reason, sizeof self->reason,
             "no budget: the most decode replicas and the fewest of prefill");
  }
}

static void share(state *self, const blis_scale_context *context) {
  double prefill_cap = cap_of(&self->prefill);
  double decode_cap = cap_of(&self->decode);
  if (context->role != BLIS_SCALE_BOTH) {
    const blis_planner_sides sides = blis_planner_sides_of(context);
    blis_power_pool prefill = limits(sides.prefill, prefill_cap);
    blis_power_pool decode = limits(sides.decode, decode_cap);
    self->pools = blis_power_share(self->budget_watts, &prefill, &decode);
    say_pools(self, prefill_cap, decode_cap);
    return;
  }
  double cap = (prefill_cap + decode_cap) / 2;
  blis_power_pool pool = limits(context->own, cap);
  int64_t replicas = blis_power_replicas(self->budget_watts, &pool);
  self->pools = (blis_planner_pools){replicas, replicas};
  snprintf(self->reason, sizeof self->reason,
           self->budget_watts > 0 ? "%.15g W allow %lld replicas, of %.4g W a GPU"
                                  : "no budget: as many as there may be",
           self->budget_watts, (long long)replicas, cap);
}

/* A plan that does not meet the targets changes nothing; if it is the first, planning is off for
   the rest of the run. */
static void plan(state *self, const blis_scale_context *context) {
  const blis_planner_sides sides = blis_planner_sides_of(context);
  const blis_scale_model *prefill = sides.prefill->model;
  const blis_scale_model *decode = sides.decode->model;
  estimate made = estimate_of(self, prefill, decode);
  self->planned_us = context->now_us;
  self->misses = 0;
  if (!keeps_targets(self, &made)) {
    self->is_off = !self->has_plan;
    return;
  }
  self->has_plan = true;
  self->planned = made;
  share(self, context);
}

static bool is_missed(const state *self, const blis_scale_context *context) {
  double plan_rate = self->planned.requests_per_s * (double)self->pools.decode;
  return has_requests(context) &&
         (blis_scale_value(context, BLIS_SCALE_TTFT_P90) > self->ttft_target_us ||
          blis_scale_value(context, BLIS_SCALE_TPOT_P90) > self->itl_target_us ||
          blis_scale_value(context, BLIS_SCALE_REQUEST_RATE) > plan_rate * (1 + self->threshold));
}

static bool is_due(state *self, const blis_scale_context *context) {
  if (!self->has_plan) {
    return self->prompt_tokens > 0 && self->output_tokens > 0;
  }
  self->misses = is_missed(self, context) ? self->misses + 1 : 0;
  return self->misses >= self->misses_max &&
         (double)(context->now_us - self->planned_us) >= self->gap_s * 1e6;
}

/* Uses the current estimates, which can exceed those of the plan. */
static int64_t free_for(const state *self, const blis_scale_context *context) {
  double prefill = cap_of(&self->prefill);
  double decode = cap_of(&self->decode);
  bool is_prefill = context->role == BLIS_SCALE_PREFILL;
  return blis_planner_free(context, self->budget_watts,
                           (is_prefill ? prefill : decode) * context->own->gpus,
                           (is_prefill ? decode : prefill) * context->other->gpus);
}

/* Scales down as planned. Scales up within the unused budget, and further at later evaluations. */
static void follow(state *self, const blis_scale_context *context, blis_scale_decision *decision) {
  decision->target = context->role == BLIS_SCALE_PREFILL ? self->pools.prefill : self->pools.decode;
  decision->reason = self->reason;
  if (self->budget_watts > 0 && context->other != NULL) {
    int64_t allowed = free_for(self, context);
    if (allowed < decision->target) {
      decision->target = allowed;
      decision->reason = "budget_watts allows no more instances next to the second pool";
    }
  }
}

static const char off_reason[] =
    "its first plan does not keep ttft_ms and itl_ms with one engine alone: "
    "nothing is scaled";

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  (void)error;
  state *self = ud;
  bool is_alone = context->role != BLIS_SCALE_BOTH && context->other == NULL;
  if (context->own == NULL || is_alone) {
    return BLIS_OK;
  }
  const blis_planner_sides sides = blis_planner_sides_of(context);
  if (sides.prefill->model == NULL || sides.decode->model == NULL) {
    decision->off = "step times are a function of the script, which plans "
                    "cannot ask: nothing is scaled";
    return BLIS_OK;
  }
  if (self->is_off) {
    decision->off = off_reason;
    return BLIS_OK;
  }
  note_lengths(self, context);
  correct(self, context);
  if (is_due(self, context)) {
    plan(self, context);
  }
  decision->off = self->is_off ? off_reason : NULL;
  if (self->has_plan) {
    follow(self, context, decision);
  }
  return BLIS_OK;
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  state *self = ud;
  self->ttft_target_us *= 1000;
  self->itl_target_us *= 1000;
  self->prefill.correction = self->decode.correction = 1;
  self->ttft_correction = self->itl_correction = 1;
  if (self->budget_watts > 0 && (self->prefill.watts <= 0 || self->decode.watts <= 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "autoscaler %s: budget_watts needs prefill_watts and "
                     "decode_watts, what a GPU is expected to draw",
                     setup->entry->name);
  }
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__NUMBER("budget_watts", 0, 1e12, 0, "W", "what all GPUs of the pools may draw; 0 = any",
                 BLIS__INTO(state, budget_watts)),
    BLIS__NUMBER("prefill_watts", 0, 1e6, 0, "W",
                 "what a GPU is expected to draw that prefills; needed with a "
                 "budget",
                 BLIS__INTO(state, prefill.watts)),
    BLIS__NUMBER("decode_watts", 0, 1e6, 0, "W",
                 "the same of one that decodes; of one that does both, the "
                 "mean counts",
                 BLIS__INTO(state, decode.watts)),
    BLIS__NUMBER("ttft_ms", 1e-3, 1e9, 500, "ms", "promised TTFT",
                 BLIS__INTO(state, ttft_target_us)),
    BLIS__NUMBER("itl_ms", 1e-3, 1e9, 50, "ms", "promised ITL", BLIS__INTO(state, itl_target_us)),
    BLIS__INTEGER("misses", 1, 1e6, 3, "looks",
                  "in a row with a promise that was broken or more requests "
                  "than planned for, before a new plan",
                  BLIS__INTO(state, misses_max)),
    BLIS__NUMBER("threshold", 0, 1e3, 0.2, "",
                 "share by which requests may exceed what was planned for",
                 BLIS__INTO(state, threshold)),
    BLIS__NUMBER("plan_gap_seconds", 0, 1e9, 180, "s", "between two plans, at least",
                 BLIS__INTO(state, gap_s)),
    BLIS__SCALE_INTERVAL(state, 5),
};

const blis_policy_entry blis__autoscaler_dynamo_power = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "dynamo.power",
    .summary = "Dynamo's power planner: as many replicas as a budget of power "
               "allows, decode first",
    .source = "ai-dynamo/dynamo components/src/dynamo/planner/monitoring/"
              "aic_power_optimizer.py, 1171d60",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide},
    .state_size = sizeof(state),
    .needs = BLIS_SCALE_NEEDS_POOLS | BLIS_SCALE_BIT(BLIS_SCALE_REQUEST_RATE) |
             BLIS_SCALE_BIT(BLIS_SCALE_TTFT_P90) | BLIS_SCALE_BIT(BLIS_SCALE_TPOT_P90) |
             BLIS_SCALE_BIT(BLIS_SCALE_PROMPT_TOKENS_MEAN) |
             BLIS_SCALE_BIT(BLIS_SCALE_OUTPUT_TOKENS_MEAN),
    .init = init,
};
