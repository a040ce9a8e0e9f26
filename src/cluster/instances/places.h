/*
 * places.h - the instances of a cluster, created when they are needed.
 *
 * A cluster has a fixed number of slots for instances. The initial instances are created with the
 * cluster. A later instance is a copy of an initial one. Until it is created, its slot in
 * cluster->instances is NULL.
 */
#ifndef BLIS_CLUSTER_INSTANCES_PLACES_H
#define BLIS_CLUSTER_INSTANCES_PLACES_H

#include "cluster/state.h"

/*
 * Stores the parameters of instances from cluster->config, before the instances are created. itl_us
 * is borrowed. events are the callbacks of every instance.
 */
BLIS_MUSTUSE blis_status blis__places_init(blis_cluster *cluster,
                                           const blis_instance_events *events,
                                           blis_histogram *itl_us, blis_error *error);

/* Creates the instance of an empty slot i as a copy of instance `like`, which may be i itself.
   Fails with BLIS_ERR_NOMEM or with an error about the configuration. */
BLIS_MUSTUSE blis_status blis__make_instance(blis_cluster *cluster, uint32_t i, uint32_t like,
                                             blis_error *error);

#endif
