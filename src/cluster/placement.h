/*
 * placement.h - what the rest of a cluster asks of its node pools
 * (node_pools.c). Without node pools there is always room.
 */
#ifndef BLIS_CLUSTER_PLACEMENT_H
#define BLIS_CLUSTER_PLACEMENT_H

#include "cluster/node_pools.h"
#include "cluster/state.h"

/* As blis_cluster_set_node_pools; has_room is called when a node is ready. */
BLIS_MUSTUSE blis_status blis__make_node_pools(
    blis_cluster *cluster, const blis_node_pools_config *config,
    blis_status (*has_room)(blis_cluster *cluster, blis_error *error), blis_error *error);

typedef enum blis__placement {
  BLIS__PLACED,       /* its GPUs are taken */
  BLIS__NODE_ORDERED, /* on a node that is not ready yet */
  BLIS__PENDING       /* there is no room */
} blis__placement;

/* Takes GPUs for an instance, which may have them already. */
BLIS_MUSTUSE blis_status blis__place_instance(blis_cluster *cluster, uint32_t i,
                                              blis__placement *placement, blis_error *error);

/* It has none any more. */
void blis__unplace_instance(const blis_cluster *cluster, uint32_t i);

/*
 * The same for all ranks of an instance's group, which may be on several nodes:
 * all of them are placed, or wait for a node, or take nothing.
 */
BLIS_MUSTUSE blis_status blis__place_group(blis_cluster *cluster, uint32_t i,
                                           blis__placement *placement, blis_error *error);
void blis__unplace_group(const blis_cluster *cluster, uint32_t i);

/* Is there room now for another one with such GPUs? */
bool blis__has_room_like(const blis_cluster *cluster, uint32_t i);

/* Whether instances are placed on nodes. */
bool blis__has_machines(const blis_cluster *cluster);

/* What an instance runs on, and its price. */
typedef struct blis__machine {
  const char *gpu;
  double tp;
  double cost_per_hour;
} blis__machine;

blis__machine blis__machine_of(const blis_cluster *cluster, uint32_t i);

#endif
