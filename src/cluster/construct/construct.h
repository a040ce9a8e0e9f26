/* construct.h - creates a cluster from its configuration and a table of features. */
#ifndef BLIS_CLUSTER_CONSTRUCT_CONSTRUCT_H
#define BLIS_CLUSTER_CONSTRUCT_CONSTRUCT_H

#include "cluster/state.h"

/* Like blis_cluster_new. The table must outlive the cluster. */
BLIS_MUSTUSE blis_status blis__cluster_make(const blis__feature_table *table,
                                            const blis_alloc *alloc,
                                            const blis_cluster_config *config, blis_router *router,
                                            const blis_request_source *source,
                                            const blis_request_sink *sink, blis_histogram *itl_us,
                                            blis_cluster **cluster, blis_error *error);

#endif
