/*
 * pins.h - routing decisions made in advance.
 */
#ifndef BLIS_CLUSTER_RULES_PINS_H
#define BLIS_CLUSTER_RULES_PINS_H

#include "cluster/cluster.h"

/*
 * Fixes the result of the next routing decision about a request. With pools, this is the next
 * decision for a role (0 = any role). The policy sees only this instance. Replaces an earlier pin
 * of the request and role. The run stops with BLIS_ERR_INVALID if the instance is not a candidate
 * at the time of the decision. No effect if the request is never routed again.
 */
BLIS_MUSTUSE blis_status blis_cluster_pin(blis_cluster *cluster, int64_t number, uint32_t role,
                                          uint32_t instance, blis_error *error);

/* Returns the number of unused pins, and stores the request of the oldest one in *number. */
size_t blis_cluster_unused_pins(const blis_cluster *cluster, int64_t *number);

#endif
