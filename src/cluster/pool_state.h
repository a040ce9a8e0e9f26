/*
 * pool_state.h - what routers and autoscalers are told of the pool as a whole.
 */
#ifndef BLIS_CLUSTER_POOL_STATE_H
#define BLIS_CLUSTER_POOL_STATE_H

#include "cluster/state.h"

/* Requests that wait for the pool: in the gateway's queue, and in front of
   routing while nobody may take them. */
int64_t blis__waiting_for_pool(const blis_cluster *cluster);

/* Without a gateway that says it: 1 = full, with 5 that wait or at 0.8 of the
   KV (llm-d-router, utilization-detector). The pool is the mean of its
   instances, and full without any. */
double blis__instance_fullness(double queue_depth, double kv_utilization);

#endif
