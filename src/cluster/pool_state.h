/* pool_state.h - the state of the whole pool, for policies. */
#ifndef BLIS_CLUSTER_POOL_STATE_H
#define BLIS_CLUSTER_POOL_STATE_H

#include "cluster/state.h"

/* Returns the number of requests that wait for the pool: requests that features hold, and requests
   before routing that no instance may take. */
int64_t blis__waiting_for_pool(const blis_cluster *cluster);

/* Returns the saturation of an instance if no feature measures it (llm-d-router,
   utilization-detector). It reaches 1 with 5 waiting requests or at a KV utilization of 0.8. The
   saturation of the pool is the mean over its instances, and 1 without instances. */
double blis__instance_fullness(double queue_depth, double kv_utilization);

#endif
