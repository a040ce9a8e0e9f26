/*
 * cache_belief.h - predicted and actual cache hits of routing policies.
 */
#ifndef BLIS_CLUSTER_WATCH_CACHE_BELIEF_H
#define BLIS_CLUSTER_WATCH_CACHE_BELIEF_H

#include "cluster/cluster.h"

/*
 * Sums over the decisions of policies that read caches: the leading prompt tokens that the policy
 * predicted to be cached on the chosen instance, and the tokens that were actually cached at that
 * time.
 */
typedef struct blis_cache_belief {
  int64_t decisions;
  int64_t prompt_tokens;
  int64_t predicted_tokens;
  int64_t true_tokens;
  int64_t missing_tokens; /* predicted but not cached */
  int64_t unknown_tokens; /* cached but not predicted */
} blis_cache_belief;

void blis_cluster_get_cache_belief(const blis_cluster *cluster, blis_cache_belief *belief);

#endif
