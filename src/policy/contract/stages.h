/*
 * stages.h - information about the other stage of a request, for policies of disaggregated
 * clusters.
 *
 * All values are computed on demand, and only for the current decision.
 */
#ifndef BLIS_POLICY_CONTRACT_STAGES_H
#define BLIS_POLICY_CONTRACT_STAGES_H

#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis_stages {
  void *ud;
  /*
   * Returns the candidates of the other stage for the same request. Their signals are as fresh as
   * those of this stage. The view is valid until the decision is complete. NULL = out of memory.
   */
  const blis_routing_view *(*peers)(void *ud, const blis_routing_request *request);
  /* Returns the roles (BLIS_ROLE_*) of an instance. KV is transferred from prefill to decode. */
  uint32_t (*roles)(void *ud, uint32_t instance);
  /*
   * Returns the bandwidth of a transfer that starts now, in bytes/us: its share of the slowest
   * link. INFINITY = the transfer takes no time.
   */
  double (*bytes_per_us)(void *ud, uint32_t source, uint32_t destination);
  /* Computes the time to transfer the KV of the request at that bandwidth, including latency. */
  blis_status (*transfer_us)(void *ud, const blis_routing_request *request, uint32_t source,
                             uint32_t destination, double *transfer_us, blis_error *error);
  /* For disaggregation policies: asks the prefill router for the prefill instance. If the
     request is split, it is routed there; otherwise the router is notified that it has ended. -1
     = none. */
  blis_status (*preview)(void *ud, int64_t *source, blis_error *error);
} blis_stages;

#endif
