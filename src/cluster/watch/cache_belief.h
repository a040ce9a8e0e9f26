/*
 * cache_belief.h - what routing policies believed about the caches, and what the caches had.
 */
#ifndef BLIS_CLUSTER_WATCH_CACHE_BELIEF_H
#define BLIS_CLUSTER_WATCH_CACHE_BELIEF_H

#include "cluster/cluster.h"

/*
 * Over the decisions of policies that look at caches: the leading prompt tokens that the policy
 * took to be cached at the instance it chose, and those that were cached there at that moment.
 */
typedef struct blis_cache_belief {
  int64_t decisions;
  int64_t prompt_tokens;
  int64_t believed_tokens;
  int64_t true_tokens;
  int64_t missing_tokens; /* believed and not there */
  int64_t unknown_tokens; /* there and not believed */
} blis_cache_belief;

void blis_cluster_get_cache_belief(const blis_cluster *cluster, blis_cache_belief *belief);

#endif
