/*
 * go_blis_loop.h - the autoscaler's loop of BLIS (Go, inference-sim
 * f90a1e3a), for its profile alone.
 *
 * It looks from time 0 on, before the instances of that time, at signals that
 * are as old as those of routers. A decision is a change of the number, not a
 * number, and takes effect on its own after its delay; what finds no room then
 * is dropped. Corrected: the loop goes on while there are requests, the oldest
 * instance goes first, and the last one stays.
 */
#ifndef BLIS_CLUSTER_SCALING_GO_BLIS_LOOP_H
#define BLIS_CLUSTER_SCALING_GO_BLIS_LOOP_H

#include "cluster/life_cycle.h"
#include "policy/autoscale/autoscaler.h"

typedef struct blis_go_blis_scaling_config {
  int64_t interval_us; /* >= 1; 0 = nobody is asked */
  blis_delay actuation;
  blis_delay loading;     /* of an instance */
  bool initial_ones_load; /* those at first, too */
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
