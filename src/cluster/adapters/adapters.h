/*
 * adapters.h - the LoRA adapters that requests name, over all instances. instance/parts/adapters.h
 * describes how an engine serves them.
 *
 * When the cluster is created, the names are added to the source's string table, so that a request
 * costs one array access.
 */
#ifndef BLIS_CLUSTER_ADAPTERS_ADAPTERS_H
#define BLIS_CLUSTER_ADAPTERS_ADAPTERS_H

#include "cluster/cluster.h"

/*
 * The adapters that requests may name, numbered from 1 in this order. These are the options of
 * BLIS_FEATURE_ADAPTERS. instances[i].adapters must describe the same adapters.
 */
typedef struct blis_adapter_names {
  const char *const *names; /* distinct; borrowed for the lifetime of the cluster */
  uint32_t count;           /* 0 = adapter names in requests are ignored */
  bool own_prefixes;        /* KV is shared only between requests with the same adapter */
} blis_adapter_names;

/* Stores the total adapter statistics of all instances. Slots and their contents include only
   instances that are up. */
void blis_cluster_get_adapters(const blis_cluster *cluster, blis_adapter_stats *stats);

/* Totals of one adapter over all instances. */
typedef struct blis_cluster_adapter {
  const char *name;
  int64_t loads;
  int64_t evictions;
  int64_t instances; /* instances on which it is currently loaded */
} blis_cluster_adapter;

uint32_t blis_cluster_adapter_count(const blis_cluster *cluster);
/* Returns the totals of an adapter, numbered from 1 to the count. */
blis_cluster_adapter blis_cluster_adapter_at(const blis_cluster *cluster, uint32_t adapter);

#endif
