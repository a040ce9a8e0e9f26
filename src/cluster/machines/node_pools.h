/*
 * node_pools.h - machines with GPUs, on which instances are placed.
 *
 * An instance takes its GPUs on one node: the first with enough free GPUs, pools
 * and nodes in their order. An instance without a node is pending, and costs
 * nothing; it starts as soon as GPUs are free. A pool that may grow orders another
 * node for it.
 *
 * Invariant: on no node more GPUs are taken than it has. Each query costs O(nodes +
 * instances).
 */
#ifndef BLIS_CLUSTER_MACHINES_NODE_POOLS_H
#define BLIS_CLUSTER_MACHINES_NODE_POOLS_H

#include "cluster/cluster.h"
#include "cluster/instances/delay.h"

typedef struct blis_node_pool {
  const char *name;
  const char *gpu; /* type of its GPUs, as in facts */
  uint32_t gpus_per_node;
  uint32_t nodes;          /* initially */
  uint32_t max_nodes;      /* it grows no further */
  blis_delay provisioning; /* of another node */
  double cost_per_hour;    /* of an instance on it; below 0 = as in its facts */
  /* Hourly price of each GPU of an instance in this pool; below 0 = as in its facts. */
  double gpu_price_per_hour;
} blis_node_pool;

/* All false is the usual meaning. */
typedef struct blis_node_pool_rules {
  bool takes_any_gpu;   /* the first instances take any GPUs */
  bool orders_none;     /* nodes are never ordered */
  bool has_first_price; /* instances cost the price of the first pool with their type of GPU */
} blis_node_pool_rules;

typedef struct blis_node_pools_config {
  const blis_node_pool *pools; /* copied, with their strings */
  size_t count;
  blis_node_pool_rules rules;
  int64_t seed; /* of the times that are drawn */
} blis_node_pools_config;

/*
 * Places the existing instances. Call it before the first event, and before setting
 * an autoscaler. BLIS_ERR_INVALID: a pool is out of range, no pool can ever hold an
 * instance, or the initial instances do not fit.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_node_pools(blis_cluster *cluster,
                                                     const blis_node_pools_config *config,
                                                     blis_error *error);

/* Current use of the nodes of a pool; borrowed strings. */
typedef struct blis_node_pool_use {
  const char *name;
  const char *gpu;
  uint32_t nodes;      /* that are ready */
  uint32_t gpus;       /* on these */
  uint32_t used;       /* of these */
  uint32_t most_nodes; /* ever */
} blis_node_pool_use;

/* Price of an instance that is or was last placed, from its node pool; below 0 = none. */
double blis_cluster_node_price_per_hour(const blis_cluster *cluster, uint32_t i);

/* 0 without any. */
size_t blis_cluster_node_pool_count(const blis_cluster *cluster);
blis_node_pool_use blis_cluster_node_pool_use(const blis_cluster *cluster, size_t pool);

#endif
