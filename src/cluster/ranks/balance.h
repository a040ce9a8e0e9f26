/*
 * balance.h - groups of ranks with internal load balancing. Routers choose a group, and the group
 * chooses the rank (policy/memory/rank_balancer.h).
 *
 * Routers see only the first instance of such a group, with the combined signals of all ranks
 * (candidates.h). Routing policies store this instance in their memory of requests.
 */
#ifndef BLIS_CLUSTER_RANKS_BALANCE_H
#define BLIS_CLUSTER_RANKS_BALANCE_H

#include "cluster/state.h"

typedef struct blis__rank_balance blis__rank_balance;

/* Fixes the rank of the next decision. */
void blis__name_rank(const blis_cluster *cluster, uint32_t instance);

#endif
