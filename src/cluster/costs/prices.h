/*
 * prices.h - costs of GPUs with prices that change over time, such as spot prices.
 *
 * life_cycle.h defines when an instance is billed. Each billed second costs the current price in
 * the list of the instance's group. A change of an instance's service state costs O(log steps), and
 * nothing else has a cost.
 */
#ifndef BLIS_CLUSTER_COSTS_PRICES_H
#define BLIS_CLUSTER_COSTS_PRICES_H

#include "cluster/cluster.h"

typedef struct blis_price_step {
  int64_t from_us;
  double per_hour; /* price of one GPU, >= 0 */
} blis_price_step;

/*
 * Sets the prices of a group, before the first event; copies the steps. BLIS_ERR_INVALID if there
 * are no steps, the first step is not at 0, the steps are not in time order, a price is negative or
 * NaN, or the group already has prices.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_prices(blis_cluster *cluster, uint32_t group,
                                                 const blis_price_step *steps, size_t count,
                                                 blis_error *error);

/* Returns whether any group has prices. */
bool blis_cluster_has_prices(const blis_cluster *cluster);

/* Returns the cost of each GPU of an instance up to until_us, which must not be before the current
   time. A negative result means that the group has no prices. */
double blis_cluster_instance_usd(const blis_cluster *cluster, uint32_t index, int64_t until_us);

/*
 * Returns the price of one of the instance's GPUs at a time. A negative result means that the group
 * has no prices.
 */
double blis_cluster_gpu_price_per_hour(const blis_cluster *cluster, uint32_t index,
                                       int64_t time_us);

#endif
