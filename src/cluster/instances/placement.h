/*
 * placement.h - placement of instances on nodes. A feature may place them. Without such a feature,
 * instances always fit.
 */
#ifndef BLIS_CLUSTER_INSTANCES_PLACEMENT_H
#define BLIS_CLUSTER_INSTANCES_PLACEMENT_H

#include "cluster/state.h"

typedef enum blis__placement {
  BLIS__PLACED,       /* its GPUs are allocated */
  BLIS__NODE_ORDERED, /* placed on a node that is not ready yet */
  BLIS__PENDING       /* no node has enough free GPUs */
} blis__placement;

typedef struct blis__placer {
  /* Allocates GPUs for an instance, which may already have them. */
  blis_status (*place)(blis_cluster *cluster, uint32_t instance, blis__placement *placement,
                       blis_error *error);
  /* Releases the GPUs of an instance, if it has any. */
  void (*unplace)(blis_cluster *cluster, uint32_t instance);
} blis__placer;

/*
 * Allocates GPUs for all instances of i's unit, possibly on several nodes. Either all instances are
 * placed, or all wait for a node, or nothing is allocated.
 */
BLIS_MUSTUSE blis_status blis__place_unit(blis_cluster *cluster, uint32_t i,
                                          blis__placement *placement, blis_error *error);
void blis__unplace_unit(blis_cluster *cluster, uint32_t i);

#endif
