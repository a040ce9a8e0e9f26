/*
 * pulls.h - KV that an instance loads from another engine for a request, because a router outside
 * of the cluster has sent the prompt there first (kv_transfer_params of vLLM).
 *
 * The request waits until its KV has come, like a request that loads from a tier
 * (instance/request/kv_source.h); others may pass it. A transfer takes a latency, and its bytes
 * over a bandwidth that transfers do not share. If another instance of this cluster holds the KV,
 * only the blocks count that are still in its prefix cache; the rest is computed. Cannot be
 * combined with KV tiers.
 */
#ifndef BLIS_CLUSTER_RULES_PULLS_H
#define BLIS_CLUSTER_RULES_PULLS_H

#include "cluster/cluster.h"

/* Where the KV of a request is. */
typedef struct blis_pull {
  int64_t tokens; /* of its prompt, from the first one on */
  int64_t holder; /* an instance; -1 = an engine outside of the cluster */
} blis_pull;

/* A transfer that begins. */
typedef struct blis_pull_report {
  int64_t request; /* its number */
  uint32_t instance;
  int64_t tokens; /* that come */
  double bytes;
  int64_t us;
} blis_pull_report;

/* The options of BLIS_FEATURE_PULLS; copied. Both functions are set. */
typedef struct blis_pulls {
  void *ud;
  double bytes_per_us; /* > 0 */
  int64_t latency_us;  /* >= 0 */
  /* Returns whether another engine holds KV of the request. Must not change state. */
  bool (*held)(void *ud, int64_t request, blis_pull *pull);
  /* From now on, held returns false for this request. */
  void (*began)(void *ud, const blis_pull_report *report);
} blis_pulls;

#endif
