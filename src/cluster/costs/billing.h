/*
 * billing.h - rounds the billed time of instances up to whole units, with a minimum, for each
 * period of an instance.
 *
 * Each uninterrupted period is rounded once; life_cycle.h defines when an instance is billed. A
 * change of an instance's service state costs O(1), and nothing else has a cost. Without rules, no
 * state is kept.
 */
#ifndef BLIS_CLUSTER_COSTS_BILLING_H
#define BLIS_CLUSTER_COSTS_BILLING_H

#include "cluster/cluster.h"

typedef struct blis_billing {
  int64_t granularity_us; /* 0 = time is not rounded */
  int64_t minimum_us;
} blis_billing;

/* Returns the rounded time for a billed time; 0 for 0. */
int64_t blis_billed_us(const blis_billing *billing, int64_t paid_us);

/* Sets the rules for the instances of a group, before the first event. BLIS_ERR_INVALID if a time
   is negative or the group already has rules. */
BLIS_MUSTUSE blis_status blis_cluster_set_billing(blis_cluster *cluster, uint32_t group,
                                                  const blis_billing *billing, blis_error *error);

/* Returns the rules of a group. Without rules, the returned rules round nothing. */
blis_billing blis_cluster_billing(const blis_cluster *cluster, uint32_t group);

/* Returns whether any group has rules. */
bool blis_cluster_has_billing(const blis_cluster *cluster);

/*
 * The time that rounding adds to the billed time of an instance up to until_us, which must not be
 * before the current time.
 */
typedef struct blis_rounding {
  int64_t us;
  /* Cost of the added time per GPU, at the listed price just before the instance was removed. */
  double gpu_usd;
} blis_rounding;

blis_rounding blis_cluster_instance_rounding(const blis_cluster *cluster, uint32_t index,
                                             int64_t until_us);

#endif
