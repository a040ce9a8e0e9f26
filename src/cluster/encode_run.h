/*
 * encode_run.h - the encode stage of a cluster, as its other files see it.
 */
#ifndef BLIS_CLUSTER_ENCODE_RUN_H
#define BLIS_CLUSTER_ENCODE_RUN_H

#include "cluster/state.h"

/*
 * BLIS (Go): the router chooses who encodes a request that is being routed,
 * though nothing comes of it. The view shown before is no longer valid.
 */
BLIS_MUSTUSE blis_status blis__encode_in_passing(blis_cluster *cluster,
                                                 blis__cluster_request *request, blis_error *error);

#endif
