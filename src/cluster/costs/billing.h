/*
 * billing.h - rounding of the paid time of instances: up to whole units, and to a
 * minimum, for each period of an instance.
 *
 * A period without a gap (life_cycle.h defines when an instance is paid) is rounded
 * once. A change of an instance's service costs O(1), everything else nothing;
 * without rules nothing is kept.
 */
#ifndef BLIS_CLUSTER_COSTS_BILLING_H
#define BLIS_CLUSTER_COSTS_BILLING_H

#include "cluster/cluster.h"

typedef struct blis_billing {
  int64_t granularity_us; /* 0 = time is not rounded */
  int64_t minimum_us;
} blis_billing;

/* Billed time for a paid time; 0 for 0. */
int64_t blis_billed_us(const blis_billing *billing, int64_t paid_us);

/* For the instances of a group, before the first event. BLIS_ERR_INVALID: a
   time is below 0, or the group has rules already. */
BLIS_MUSTUSE blis_status blis_cluster_set_billing(blis_cluster *cluster, uint32_t group,
                                                  const blis_billing *billing, blis_error *error);

/* Billing of a group; without rules, nothing is rounded. */
blis_billing blis_cluster_billing(const blis_cluster *cluster, uint32_t group);

/* Whether any group has rules. */
bool blis_cluster_has_billing(const blis_cluster *cluster);

/* Billed time of an instance beyond its paid time, up to until_us, not before now. */
typedef struct blis_rounding {
  int64_t us;
  double gpu_usd; /* of each GPU, at the price of its list just before it
                     went */
} blis_rounding;

blis_rounding blis_cluster_instance_rounding(const blis_cluster *cluster, uint32_t index,
                                             int64_t until_us);

#endif
