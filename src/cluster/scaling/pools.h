/* pools.h - the pools of autoscalers: their instances, step times, and power.
 *
 * Reading the power costs O(instances); only counters are stored between evaluations. */
#ifndef BLIS_CLUSTER_SCALING_POOLS_H
#define BLIS_CLUSTER_SCALING_POOLS_H

#include "cluster/state.h"
#include "cluster/units.h"
#include "policy/autoscale/autoscaler.h"

/* Returns whether instance i is in the pool that is scaled for a role. */
static inline bool blis__is_in_scaled_pool(const blis_cluster *cluster, blis_scale_role role,
                                           uint32_t i) {
  static const uint32_t roles[] = {0, BLIS_ROLE_PREFILL, BLIS_ROLE_DECODE};
  return cluster->facts[i].roles == roles[role];
}

/*
 * Like blis__is_in_scaled_pool, but true only for the first instance of each group of ranks, to
 * count groups.
 */
static inline bool blis__is_scaled_group(const blis_cluster *cluster, blis_scale_role role,
                                         uint32_t i) {
  return blis__unit_first(cluster, i) == i && blis__is_in_scaled_pool(cluster, role, i);
}

/* The step times of a pool, from the engine of its first instance. It must not move while its model
   is used. */
typedef struct blis__scale_engine {
  const blis_latency_model *latency; /* borrowed */
  double ranks;                      /* number of ranks that share a step */
  blis_scale_model model;
} blis__scale_engine;

/*
 * Returns the model of a pool; NULL if the latency model does not support sums or the pool has no
 * instance.
 */
const blis_scale_model *blis__scale_engine_of(blis__scale_engine *engine,
                                              const blis_cluster *cluster, blis_scale_role role);

/* Energy of all instances of a pool with known power, up to the last evaluation; initially all
   zero. */
typedef struct blis__scale_meter {
  double prefill_nj;
  double decode_nj;
  double prefill_gpu_us; /* duration of steps * GPUs */
  double decode_gpu_us;
} blis__scale_meter;

/* State of a pool between evaluations. Initially all zero. */
typedef struct blis__scale_pool {
  blis__scale_engine engine;
  blis__scale_meter meter;
  blis_scale_pool seen;
} blis__scale_pool;

/* Fills the GPUs, the power, and the model in pool->seen. Returns false if the pool has never had
   an instance. */
bool blis__scale_pool_look(blis__scale_pool *pool, const blis_cluster *cluster,
                           blis_scale_role role);

#endif
