/*
 * cascade.h - a cascade of models: an answer that is not good enough sends the
 * request to the next model of its chain (policy/cascade/cascade.h).
 */
#ifndef BLIS_CLUSTER_CASCADE_CASCADE_H
#define BLIS_CLUSTER_CASCADE_CASCADE_H

#include "cluster/cluster.h"
#include "policy/cascade/cascade.h"

/*
 * Takes *cascade (even on failure), once, before the first event. The models of its
 * chains become strings of the source. BLIS_ERR_INVALID names a chain with a
 * duplicate model or a model that no instance serves. A request's own chain is
 * checked when it arrives, and an invalid one stops the run.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_cascade(blis_cluster *cluster, blis_cascade *cascade,
                                                  blis_error *error);

/* What BLIS__JUDGED announces; borrowed during the call. */
typedef struct blis__judgement {
  const blis_cascade_attempt *attempt;
  blis_cascade_verdict verdict;
} blis__judgement;

#endif
