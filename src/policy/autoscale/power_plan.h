/*
 * power_plan.h - the independent rules of Dynamo's power planner: how an estimate
 * is corrected by observations, and how many replicas a budget of power allows.
 *
 * Source: ai-dynamo/dynamo components/src/dynamo/planner/monitoring/
 * aic_power_optimizer.py (1171d60).
 */
#ifndef BLIS_POLICY_AUTOSCALE_POWER_PLAN_H
#define BLIS_POLICY_AUTOSCALE_POWER_PLAN_H

#include <stdint.h>

#include "policy/autoscale/planner.h"

/* A correction begins as 1 and stays within 0.5 and 2. estimated > 0. */
double blis_power_correct(double correction, double observed, double estimated);

/* Factor of a correction; it never loosens. */
double blis_power_tightening(double correction);

/* Power cap of a GPU with this estimated draw, in whole watts. */
double blis_power_cap(double watts, double correction);

/* Replicas of one kind. */
typedef struct blis_power_pool {
  double replica_watts; /* > 0 where there is a budget */
  int64_t min;
  int64_t max;
} blis_power_pool;

/*
 * Decode gets the budget without the minimum of prefill, and prefill gets the rest;
 * each keeps its minimum, whatever the budget. budget_watts 0 = no budget: the
 * maximum of decode, the minimum of prefill.
 */
blis_planner_pools blis_power_share(double budget_watts, const blis_power_pool *prefill,
                                    const blis_power_pool *decode);

/* The same where one kind does both: without a budget, the most. */
int64_t blis_power_replicas(double budget_watts, const blis_power_pool *pool);

#endif
