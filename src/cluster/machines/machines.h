/* machines.h - the properties of node pools (node_pools.c) that autoscalers read. */
#ifndef BLIS_CLUSTER_MACHINES_MACHINES_H
#define BLIS_CLUSTER_MACHINES_MACHINES_H

#include "cluster/machines/node_pools.h"
#include "cluster/state.h"

/* Returns whether instances are placed on nodes. */
bool blis__has_machines(const blis_cluster *cluster);

/*
 * Returns whether another instance with the GPUs of instance i fits now. True without node pools.
 */
bool blis__has_room_like(const blis_cluster *cluster, uint32_t i);

/* The node of an instance, and its price. */
typedef struct blis__machine {
  const char *gpu;
  double tp;
  double cost_per_hour;
} blis__machine;

blis__machine blis__machine_of(const blis_cluster *cluster, uint32_t i);

#endif
