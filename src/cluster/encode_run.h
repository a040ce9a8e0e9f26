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

/* The instance has failed: what becomes of who was there. */
BLIS_MUSTUSE blis_status blis__encode_lose_instance(blis_cluster *cluster, uint32_t instance,
                                                    blis_loss loss, blis_error *error);

/* An instance does nothing any more: who is encoded there is never done. */
void blis__encode_hang(blis_cluster *cluster, uint32_t instance);

/* It is as new. */
void blis__encode_start_anew(blis_cluster *cluster, uint32_t instance);

#endif
