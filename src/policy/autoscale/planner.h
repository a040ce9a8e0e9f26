/*
 * planner.h - rules of Dynamo's planner that need no state: how a GPU budget is divided, how much
 * budget the other pool leaves, and how many replicas a predicted load requires.
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
 * Reduces the wanted replicas to a GPU budget; each pool keeps its minimum. Returns {0, 0} if even
 * the minimum does not fit. GPU counts are per replica.
 */
blis_planner_pools blis_planner_share_budget(blis_planner_pools wanted, blis_planner_pools gpus,
                                             blis_planner_pools min, int64_t max_gpus);

/* The pools by role; both are the same pool if its instances prefill and decode. Requires
   context->own. */
typedef struct blis_planner_sides {
  const blis_scale_pool *prefill;
  const blis_scale_pool *decode;
} blis_planner_sides;

blis_planner_sides blis_planner_sides_of(const blis_scale_context *context);

/*
 * Returns the number of replicas that a pool may have in addition to the current replicas of the
 * other pool. The result is at least the pool's current number. Each pool is evaluated separately,
 * at separate times. Costs are per replica, in the unit of the budget; own_cost > 0.
 */
int64_t blis_planner_free(const blis_scale_context *context, double budget, double own_cost,
                          double other_cost);

/* A predicted load and the latency targets. */
typedef struct blis_planner_load {
  double requests_per_s;
  double prompt_tokens;
  double output_tokens;
  double ttft_us;
  double itl_us;
  double kv_capacity_tokens; /* KV capacity of a replica */
  double requests_max;       /* maximum number of requests in a batch; 0 = no limit */
  double accept_length;      /* tokens per step with speculative decoding; values below 1 count
                                as 1 */
} blis_planner_load;

/* Returns the largest decode batch that meets the ITL target and fits into the KV cache; at
   least 1. */
double blis_planner_batch(const blis_scale_model *model, const blis_planner_load *load);

/* Returns the mean time between the tokens of a request in a batch of the given size. */
double blis_planner_itl_us(const blis_scale_model *model, const blis_planner_load *load,
                           double batch);

/*
 * Returns the time of a decode step per request, for the largest batch that meets the ITL target.
 */
double blis_planner_token_us(const blis_scale_model *model, const blis_planner_load *load);

/* Returns the number of replicas that a load requires; at least 1. */
int64_t blis_planner_prefill(const blis_scale_model *model, const blis_planner_load *load);
int64_t blis_planner_decode(const blis_scale_model *model, const blis_planner_load *load);

#endif
