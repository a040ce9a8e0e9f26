/* go_blis_loop.h - the autoscaler loop of BLIS (Go, inference-sim f90a1e3a), only for its
 * profile.
 *
 * It is evaluated from time 0, before instance events of the same time, with the same stale signals
 * that routers see. A decision is a difference, not a target. It takes effect after its delay, and
 * instances that do not fit at that time are dropped. Differences from BLIS: the loop continues
 * while requests exist, the oldest instance is removed first, and the last one remains. */
#ifndef BLIS_CLUSTER_SCALING_GO_BLIS_LOOP_H
#define BLIS_CLUSTER_SCALING_GO_BLIS_LOOP_H

#include "cluster/instances/life_cycle.h"
#include "policy/autoscale/autoscaler.h"

typedef struct blis_go_blis_scaling_config {
  int64_t interval_us; /* >= 1; 0 = no autoscaler */
  blis_delay actuation;
  blis_delay loading;     /* loading time of an instance */
  bool initial_ones_load; /* initial instances also need to load */
  int64_t seed;
} blis_go_blis_scaling_config;

/*
 * Takes ownership of *autoscaler, even on failure. It must be all-zero if interval_us is 0. Call it
 * at most once, before the first event and after setting node pools.
 */
BLIS_MUSTUSE blis_status
blis_cluster_set_go_blis_autoscaler(blis_cluster *cluster, blis_autoscaler *autoscaler,
                                    const blis_go_blis_scaling_config *config, blis_error *error);

#endif
