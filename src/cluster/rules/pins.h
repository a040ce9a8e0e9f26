/*
 * pins.h - routing decisions made in advance.
 */
#ifndef BLIS_CLUSTER_RULES_PINS_H
#define BLIS_CLUSTER_RULES_PINS_H

#include "cluster/cluster.h"

/*
 * Decides in advance where the next routing decision sends a request. With pools,
 * this is the decision of a role (0 = the next one). The policy sees only that
 * instance. Replaces an earlier pin of the request and role. The run stops with
 * BLIS_ERR_INVALID if the instance is no candidate at the decision. No effect if
 * the request is never routed again.
 */
BLIS_MUSTUSE blis_status blis_cluster_pin(blis_cluster *cluster, int64_t number, uint32_t role,
                                          uint32_t instance, blis_error *error);

/* Number of pins that wait for a decision, and the request of the oldest of them. */
size_t blis_cluster_unused_pins(const blis_cluster *cluster, int64_t *number);

#endif
