/*
 * stages.h - the way of a request in: arrival, admission, routing, and its
 * instance.
 *
 * Each stage is an event, after which the next one is scheduled. Where that
 * would be the next event anyway, it follows at once instead.
 */
#ifndef BLIS_CLUSTER_STAGES_H
#define BLIS_CLUSTER_STAGES_H

#include "cluster/state.h"

/* Takes the next request from the source, if it has one. */
BLIS_MUSTUSE blis_status blis__cluster_fetch_arrival(blis_cluster *cluster,
                                                     blis_error *error);

/* Executes the arrival that was fetched, and fetches the next. */
BLIS_MUSTUSE blis_status blis__cluster_arrive(blis_cluster *cluster,
                                              blis_error *error);

BLIS_MUSTUSE blis_status blis__cluster_admit(blis_cluster *cluster,
                                             blis__cluster_request *request,
                                             blis_error *error);

BLIS_MUSTUSE blis_status blis__cluster_route(blis_cluster *cluster,
                                             blis__cluster_request *request,
                                             blis_error *error);

/* Executes the arrival of a follow-up. */
BLIS_MUSTUSE blis_status blis__cluster_follow_up_arrives(blis_cluster *cluster,
                                                         uint32_t index,
                                                         blis_error *error);

#endif
