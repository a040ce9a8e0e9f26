/*
 * placement.h - places of instances. A feature may place them; without such a
 * feature, instances always fit.
 */
#ifndef BLIS_CLUSTER_INSTANCES_PLACEMENT_H
#define BLIS_CLUSTER_INSTANCES_PLACEMENT_H

#include "cluster/state.h"

typedef enum blis__placement {
  BLIS__PLACED,       /* its GPUs are taken */
  BLIS__NODE_ORDERED, /* on a node that is not ready yet */
  BLIS__PENDING       /* no node has enough free GPUs */
} blis__placement;

typedef struct blis__placer {
  /* Takes GPUs for an instance, which may have them already. */
  blis_status (*place)(blis_cluster *cluster, uint32_t instance, blis__placement *placement,
                       blis_error *error);
  /* Returns its GPUs, if it has any. */
  void (*unplace)(blis_cluster *cluster, uint32_t instance);
} blis__placer;

/*
 * Takes GPUs for all instances of i's unit, which may be on several nodes. Either all are placed,
 * or all wait for a node, or nothing is taken.
 */
BLIS_MUSTUSE blis_status blis__place_unit(blis_cluster *cluster, uint32_t i,
                                          blis__placement *placement, blis_error *error);
void blis__unplace_unit(blis_cluster *cluster, uint32_t i);

#endif
