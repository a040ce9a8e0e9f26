/*
 * pulls.h - KV that an instance loads from another engine because a router outside the cluster sent
 * the prompt to that engine first (kv_transfer_params of vLLM).
 *
 * The request waits until its KV has arrived, like a request that loads from a tier
 * (instance/request/kv_source.h). Other requests may overtake it. A transfer takes a fixed latency
 * plus its bytes divided by a bandwidth that is not shared between transfers. If another instance
 * of this cluster holds the KV, only the blocks that are still in its prefix cache are transferred;
 * the rest is computed. Cannot be combined with KV tiers.
 */
#ifndef BLIS_CLUSTER_RULES_PULLS_H
#define BLIS_CLUSTER_RULES_PULLS_H

#include "cluster/cluster.h"

/* Where the KV of a request is. */
typedef struct blis_pull {
  int64_t tokens; /* leading tokens of its prompt */
  int64_t holder; /* an instance; -1 = an engine outside the cluster */
} blis_pull;

/* A transfer that begins. */
typedef struct blis_pull_report {
  int64_t request; /* request number */
  uint32_t instance;
  int64_t tokens; /* transferred tokens */
  double bytes;
  int64_t us;
} blis_pull_report;

/* The options of BLIS_FEATURE_PULLS; copied. Neither function may be NULL. */
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
