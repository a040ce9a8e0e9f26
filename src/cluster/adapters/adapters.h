/*
 * adapters.h - the LoRA adapters that requests name, over all instances. How an
 * engine serves them is in instance/adapters.h.
 *
 * The names become strings of the source when the cluster is made, so that a
 * request costs one array access.
 */
#ifndef BLIS_CLUSTER_ADAPTERS_ADAPTERS_H
#define BLIS_CLUSTER_ADAPTERS_ADAPTERS_H

#include "cluster/cluster.h"

/*
 * The adapters that requests may name, numbered from 1 in this order: options of
 * BLIS_FEATURE_ADAPTERS. instances[i].adapters is about the same ones.
 */
typedef struct blis_adapter_names {
  const char *const *names; /* each once; borrowed as long as the cluster */
  uint32_t count;           /* 0 = what requests name means nothing */
  bool own_prefixes;        /* KV is shared only under the same adapter */
} blis_adapter_names;

/* Statistics of the adapters of all instances; slots and their contents cover only instances
   that are up. */
void blis_cluster_get_adapters(const blis_cluster *cluster, blis_adapter_stats *stats);

/* Totals of one adapter over all instances. */
typedef struct blis_cluster_adapter {
  const char *name;
  int64_t loads;
  int64_t evictions;
  int64_t instances; /* that have it now */
} blis_cluster_adapter;

uint32_t blis_cluster_adapter_count(const blis_cluster *cluster);
/* adapter from 1 to the count. */
blis_cluster_adapter blis_cluster_adapter_at(const blis_cluster *cluster, uint32_t adapter);

#endif
