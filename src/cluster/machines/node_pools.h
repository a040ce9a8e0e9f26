/*
 * node_pools.h - pools of nodes with GPUs, on which instances are placed.
 *
 * An instance gets its GPUs on a single node: the first one with enough free GPUs, in the order of
 * pools and nodes. An instance without a node is pending and costs nothing. It starts as soon as
 * GPUs are free. If a pool may grow, it orders another node for the instance.
 *
 * Invariant: no node has more GPUs allocated than it has. Each query costs O(nodes + instances).
 */
#ifndef BLIS_CLUSTER_MACHINES_NODE_POOLS_H
#define BLIS_CLUSTER_MACHINES_NODE_POOLS_H

#include "cluster/cluster.h"
#include "cluster/instances/delay.h"

typedef struct blis_node_pool {
  const char *name;
  const char *gpu; /* GPU type, as in the facts of instances */
  uint32_t gpus_per_node;
  uint32_t nodes;          /* initial number of nodes */
  uint32_t max_nodes;      /* maximum number of nodes */
  blis_delay provisioning; /* time to provision another node */
  double cost_per_hour;    /* cost of an instance on it; negative = cost in its facts */
  /* Hourly price of each GPU of an instance in this pool; negative = price in its facts. */
  double gpu_price_per_hour;
} blis_node_pool;

/* Special rules; by default, all are false. */
typedef struct blis_node_pool_rules {
  bool takes_any_gpu;   /* the initial instances may use any GPU type */
  bool orders_none;     /* nodes are never ordered */
  bool has_first_price; /* instances have the price of the first pool with their GPU type */
} blis_node_pool_rules;

typedef struct blis_node_pools_config {
  const blis_node_pool *pools; /* copied, with their strings */
  size_t count;
  blis_node_pool_rules rules;
  int64_t seed; /* seed of random times */
} blis_node_pools_config;

/*
 * Places the existing instances. Call it before the first event, and before setting an autoscaler.
 * BLIS_ERR_INVALID if a pool is out of range, if an instance fits in no pool, or if the initial
 * instances do not fit.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_node_pools(blis_cluster *cluster,
                                                     const blis_node_pools_config *config,
                                                     blis_error *error);

/* Current use of the nodes of a pool. Strings are borrowed. */
typedef struct blis_node_pool_use {
  const char *name;
  const char *gpu;
  uint32_t nodes;      /* nodes that are ready */
  uint32_t gpus;       /* GPUs on these nodes */
  uint32_t used;       /* allocated GPUs of these nodes */
  uint32_t most_nodes; /* maximum number of nodes so far */
} blis_node_pool_use;

/* Returns the price of an instance in its current or last node pool; negative = none. */
double blis_cluster_node_price_per_hour(const blis_cluster *cluster, uint32_t i);

/* Returns the number of node pools. */
size_t blis_cluster_node_pool_count(const blis_cluster *cluster);
blis_node_pool_use blis_cluster_node_pool_use(const blis_cluster *cluster, size_t pool);

#endif
