/*
 * power_plan.h - rules of Dynamo's power planner that need no state: how observations correct an
 * estimate, and how many replicas a power budget allows.
 *
 * Source: ai-dynamo/dynamo components/src/dynamo/planner/monitoring/
 * aic_power_optimizer.py (1171d60).
 */
#ifndef BLIS_POLICY_AUTOSCALE_POWER_PLAN_H
#define BLIS_POLICY_AUTOSCALE_POWER_PLAN_H

#include <stdint.h>

#include "policy/autoscale/planner.h"

/* Updates a correction, which starts at 1 and remains between 0.5 and 2. Requires estimated > 0. */
double blis_power_correct(double correction, double observed, double estimated);

/* Returns the factor of a correction, limited so that it never raises the power cap. */
double blis_power_tightening(double correction);

/* Power cap of a GPU with this estimated draw, in whole watts. */
double blis_power_cap(double watts, double correction);

/* The replicas of one pool. */
typedef struct blis_power_pool {
  double replica_watts; /* > 0 if a budget is set */
  int64_t min;
  int64_t max;
} blis_power_pool;

/*
 * Divides a power budget. Decode gets the budget minus the minimum of prefill, and prefill gets the
 * remainder. Each pool keeps its minimum regardless of the budget. budget_watts 0 means no budget:
 * decode gets its maximum and prefill its minimum.
 */
blis_planner_pools blis_power_share(double budget_watts, const blis_power_pool *prefill,
                                    const blis_power_pool *decode);

/* Returns the number of replicas of a pool that prefills and decodes; without a budget, its
   maximum. */
int64_t blis_power_replicas(double budget_watts, const blis_power_pool *pool);

#endif
