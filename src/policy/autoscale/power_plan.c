#include "policy/autoscale/power_plan.h"

#include <math.h>

static double within(double value, double low, double high) {
  return fmax(low, fmin(high, value));
}

double blis_power_correct(double correction, double observed, double estimated) {
  return within(0.3 * (observed / estimated) + 0.7 * correction, 0.5, 2);
}

double blis_power_tightening(double correction) {
  return fmax(1, correction);
}

double blis_power_cap(double watts, double correction) {
  return ceil(watts * blis_power_tightening(correction));
}

/* Compared as doubles, because the number of watts may exceed an integer. */
static int64_t fitting(double watts, const blis_power_pool *pool) {
  return (int64_t)within(floor(watts / pool->replica_watts), (double)pool->min, (double)pool->max);
}

int64_t blis_power_replicas(double budget_watts, const blis_power_pool *pool) {
  return budget_watts > 0 ? fitting(budget_watts, pool) : pool->max;
}

blis_planner_pools blis_power_share(double budget_watts, const blis_power_pool *prefill,
                                    const blis_power_pool *decode) {
  if (!(budget_watts > 0)) {
    return (blis_planner_pools){prefill->min, decode->max};
  }
  double least = (double)prefill->min * prefill->replica_watts;
  int64_t decodes = fitting(budget_watts - least, decode);
  double left = budget_watts - (double)decodes * decode->replica_watts;
  return (blis_planner_pools){fitting(left, prefill), decodes};
}
