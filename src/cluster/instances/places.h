/*
 * places.h - the instances of a cluster, each made on request.
 *
 * A cluster has a number of places. The initial instances are made with the
 * cluster. A later instance copies an initial one; before, its place is empty:
 * cluster->instances has NULL there.
 */
#ifndef BLIS_CLUSTER_INSTANCES_PLACES_H
#define BLIS_CLUSTER_INSTANCES_PLACES_H

#include "cluster/state.h"

/*
 * Called before the instances are made: keeps their parameters from
 * cluster->config. itl_us is borrowed; events are the events of every instance.
 */
BLIS_MUSTUSE blis_status blis__places_init(blis_cluster *cluster,
                                           const blis_instance_events *events,
                                           blis_histogram *itl_us, blis_error *error);

/* Makes the instance of an empty place, like the instance of another place (or its own).
   BLIS_ERR_NOMEM, or an error about its configuration. */
BLIS_MUSTUSE blis_status blis__make_instance(blis_cluster *cluster, uint32_t i, uint32_t like,
                                             blis_error *error);

#endif
