/*
 * planner.h - the independent rules of Dynamo's planner: how a budget of GPUs is
 * shared, the budget left by the other pool, and the number of replicas for a
 * predicted load.
 *
 * Source: ai-dynamo/dynamo components/src/dynamo/planner/core (budget.py,
 * load_scaling.py, throughput_scaling.py).
 */
#ifndef BLIS_POLICY_AUTOSCALE_PLANNER_H
#define BLIS_POLICY_AUTOSCALE_PLANNER_H

#include <stdint.h>

#include "policy/autoscale/autoscaler.h"

typedef struct blis_planner_pools {
  int64_t prefill; /* replicas */
  int64_t decode;
} blis_planner_pools;

/*
 * What of the wanted replicas a budget of GPUs allows, each pool keeping its
 * minimum; {0, 0} where even the minimum does not fit. GPUs are of one replica.
 */
blis_planner_pools blis_planner_share_budget(blis_planner_pools wanted, blis_planner_pools gpus,
                                             blis_planner_pools min, int64_t max_gpus);

/* The pools by role; both are the same pool if one kind does both. Requires context->own. */
typedef struct blis_planner_sides {
  const blis_scale_pool *prefill;
  const blis_scale_pool *decode;
} blis_planner_sides;

blis_planner_sides blis_planner_sides_of(const blis_scale_context *context);

/*
 * Returns the number of replicas that a pool may have in addition to the current
 * replicas of the other pool, and at least its current number. Each pool is
 * evaluated separately, at its own times. Costs are per replica, in the unit of the
 * budget; own_cost > 0.
 */
int64_t blis_planner_free(const blis_scale_context *context, double budget, double own_cost,
                          double other_cost);

/* A predicted load, and the targets. */
typedef struct blis_planner_load {
  double requests_per_s;
  double prompt_tokens;
  double output_tokens;
  double ttft_us;
  double itl_us;
  double kv_capacity_tokens; /* of a replica */
  double requests_max;       /* in a batch; 0 = any number */
  double accept_length;      /* tokens of a step with drafts; below 1 = 1 */
} blis_planner_load;

/* The largest batch of decodes that keeps the ITL and fits; at least 1. */
double blis_planner_batch(const blis_scale_model *model, const blis_planner_load *load);

/* Mean time between the tokens of a request, in a batch of the given size. */
double blis_planner_itl_us(const blis_scale_model *model, const blis_planner_load *load,
                           double batch);

/* Time of a decode step of the largest batch that keeps the ITL, per request.
 */
double blis_planner_token_us(const blis_scale_model *model, const blis_planner_load *load);

/* Replicas that a load needs; at least 1. */
int64_t blis_planner_prefill(const blis_scale_model *model, const blis_planner_load *load);
int64_t blis_planner_decode(const blis_scale_model *model, const blis_planner_load *load);

#endif
