/* go_blis_loop.h - the autoscaler loop of BLIS (Go, inference-sim f90a1e3a), only for its
 * profile.
 *
 * It is evaluated from time 0, before instance events of the same time, on signals as old as the
 * routers'. A decision is a difference, not a target, and takes effect after its delay;
 * instances that do not fit are then dropped. Corrected: the loop continues while requests
 * exist, the oldest instance is removed first, and the last one remains. */
#ifndef BLIS_CLUSTER_SCALING_GO_BLIS_LOOP_H
#define BLIS_CLUSTER_SCALING_GO_BLIS_LOOP_H

#include "cluster/instances/life_cycle.h"
#include "policy/autoscale/autoscaler.h"

typedef struct blis_go_blis_scaling_config {
  int64_t interval_us; /* >= 1; 0 = no autoscaler */
  blis_delay actuation;
  blis_delay loading;     /* of an instance */
  bool initial_ones_load; /* initial instances load as well */
  int64_t seed;
} blis_go_blis_scaling_config;

/*
 * Takes *autoscaler (also on failure; all-zero without interval), once, before
 * the first event and after node pools.
 */
BLIS_MUSTUSE blis_status
blis_cluster_set_go_blis_autoscaler(blis_cluster *cluster, blis_autoscaler *autoscaler,
                                    const blis_go_blis_scaling_config *config, blis_error *error);

#endif
