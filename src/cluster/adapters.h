/*
 * adapters.h - which LoRA adapter a request needs: its text as a number of the
 * configuration, and what the adapters of all instances came to.
 *
 * The names become texts of the source when the cluster is made, so that a
 * request costs one look into an array. How an engine serves adapters is in
 * instance/adapters.h.
 */
#ifndef BLIS_CLUSTER_ADAPTERS_H
#define BLIS_CLUSTER_ADAPTERS_H

#include "cluster/state.h"

/* With config.adapters; prompts under different adapters share no KV then, if
   the configuration says so. */
BLIS_MUSTUSE blis_status blis__add_adapters(blis_cluster *cluster, blis_error *error);
void blis__free_adapters(blis_cluster *cluster);

/* Of a request that has arrived. BLIS_ERR_INVALID: there is no such adapter. */
BLIS_MUSTUSE blis_status blis__find_adapter(blis_cluster *cluster, blis__cluster_request *request,
                                            blis_error *error);

#endif
