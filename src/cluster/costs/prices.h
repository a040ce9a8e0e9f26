/*
 * prices.h - costs of GPUs with prices that change over time, such as spot prices.
 *
 * life_cycle.h defines when an instance is paid. Each paid second costs the price
 * of that time in the list of its group. A change of an instance's service costs
 * O(log steps), everything else nothing.
 */
#ifndef BLIS_CLUSTER_COSTS_PRICES_H
#define BLIS_CLUSTER_COSTS_PRICES_H

#include "cluster/cluster.h"

typedef struct blis_price_step {
  int64_t from_us;
  double per_hour; /* of a GPU, >= 0 */
} blis_price_step;

/*
 * Before the first event; copies the steps. BLIS_ERR_INVALID: there are none,
 * the first is not at 0, they are not in order of time, a price is below 0 or
 * no number, or the group has prices already.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_prices(blis_cluster *cluster, uint32_t group,
                                                 const blis_price_step *steps, size_t count,
                                                 blis_error *error);

/* Whether any group has prices. */
bool blis_cluster_has_prices(const blis_cluster *cluster);

/* What each GPU of an instance has cost up to until_us, not before now; below 0
   = its group has no prices. */
double blis_cluster_instance_usd(const blis_cluster *cluster, uint32_t index, int64_t until_us);

/* Price of one of its GPUs at a time; below 0 = its group has no prices. */
double blis_cluster_gpu_price_per_hour(const blis_cluster *cluster, uint32_t index,
                                       int64_t time_us);

#endif
