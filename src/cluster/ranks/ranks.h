/*
 * ranks.h - data-parallel ranks: a group of instances that forms one deployment unit (units.h).
 * barrier.c contains their synchronized passes, and balance.c the choice of a rank within a group.
 */
#ifndef BLIS_CLUSTER_RANKS_RANKS_H
#define BLIS_CLUSTER_RANKS_RANKS_H

#include "cluster/cluster.h"

/*
 * Counters of passes with barriers; all zero without barriers. Times are sums over all ranks. Loads
 * are weighted by the durations of passes.
 */
typedef struct blis_rank_counts {
  int64_t passes;       /* passes of groups */
  int64_t rank_passes;  /* passes of ranks */
  int64_t dummy_passes; /* rank passes without work */
  int64_t own_us;       /* durations without the barrier */
  int64_t pass_us;      /* durations with the barrier, set by the slowest rank of the group */
  double running;       /* requests * us, mean over the ranks */
  double most_running;  /* requests * us, on the rank with the most requests */
  double kv_blocks;     /* used blocks * us, mean over the ranks */
  double most_kv_blocks;
} blis_rank_counts;

void blis_cluster_get_ranks(const blis_cluster *cluster, blis_rank_counts *counts);

#endif
