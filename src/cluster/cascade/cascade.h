/*
 * cascade.h - model cascades: if an answer is not good enough, the request is sent to the next
 * model of its chain (policy/cascade/cascade.h).
 */
#ifndef BLIS_CLUSTER_CASCADE_CASCADE_H
#define BLIS_CLUSTER_CASCADE_CASCADE_H

#include "cluster/cluster.h"
#include "policy/cascade/cascade.h"

/*
 * Takes ownership of *cascade, even on failure. Call it at most once, before the first event. The
 * model names of its chains are added to the source's string table. BLIS_ERR_INVALID names a chain
 * with a duplicate model or a model that no instance serves. If a request has its own chain, it is
 * checked on arrival, and an invalid chain stops the run.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_cascade(blis_cluster *cluster, blis_cascade *cascade,
                                                  blis_error *error);

/* The data of BLIS__JUDGED, borrowed during the call. */
typedef struct blis__judgement {
  const blis_cascade_attempt *attempt;
  blis_cascade_verdict verdict;
} blis__judgement;

#endif
