/*
 * pool_state.h - what policies read about the pool as a whole.
 */
#ifndef BLIS_CLUSTER_POOL_STATE_H
#define BLIS_CLUSTER_POOL_STATE_H

#include "cluster/state.h"

/* Requests that wait for the pool: requests that features hold, and requests before routing
   while no instance may take them. */
int64_t blis__waiting_for_pool(const blis_cluster *cluster);

/* If no feature measures it: 1 = full, with 5 requests waiting or at 0.8 of the KV cache
   (llm-d-router, utilization-detector). The pool has the mean of its instances, and is full
   without any. */
double blis__instance_fullness(double queue_depth, double kv_utilization);

#endif
