/*
 * ranks.h - data-parallel ranks: a group of instances that is one deployment
 * unit (units.h). barrier.c has their common passes, balance.c the choice of a
 * rank within a group.
 */
#ifndef BLIS_CLUSTER_RANKS_RANKS_H
#define BLIS_CLUSTER_RANKS_RANKS_H

#include "cluster/cluster.h"

/*
 * Passes at the barriers of data-parallel ranks, all zero without. Sums of
 * times count each rank; loads are weighted with the times of the passes.
 */
typedef struct blis_rank_counts {
  int64_t passes;       /* of groups, and */
  int64_t rank_passes;  /* of their ranks, */
  int64_t dummy_passes; /* passes among them without work */
  int64_t own_us;       /* their durations without the barrier, */
  int64_t pass_us;      /* and with the slowest of their group */
  double running;       /* requests * us, at the mean of the ranks, */
  double most_running;  /* and at the rank with most */
  double kv_blocks;     /* in use, summed in the same way */
  double most_kv_blocks;
} blis_rank_counts;

void blis_cluster_get_ranks(const blis_cluster *cluster, blis_rank_counts *counts);

#endif
