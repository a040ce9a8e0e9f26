/*
 * places.h - the instances of a cluster, each made when it is asked for.
 *
 * There is room for a number of them. Those at first are made with the cluster;
 * a later one is made like one of these, and before that its place is empty:
 * cluster->instances has NULL there.
 */
#ifndef BLIS_CLUSTER_INSTANCES_PLACES_H
#define BLIS_CLUSTER_INSTANCES_PLACES_H

#include "cluster/state.h"

/*
 * Before the instances: keeps what they are made of, from cluster->config.
 * itl_us is borrowed; events are those of every instance.
 */
BLIS_MUSTUSE blis_status blis__places_init(blis_cluster *cluster,
                                           const blis_instance_events *events,
                                           blis_histogram *itl_us, blis_error *error);

/* Makes the instance of an empty place, like that of another place (or its
   own). BLIS_ERR_NOMEM, or what is wrong about its configuration. */
BLIS_MUSTUSE blis_status blis__make_instance(blis_cluster *cluster, uint32_t i, uint32_t like,
                                             blis_error *error);

#endif
