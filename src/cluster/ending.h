/* ending.h - the path of a request out of its instance and out of the cluster. */
#ifndef BLIS_CLUSTER_ENDING_H
#define BLIS_CLUSTER_ENDING_H

#include "cluster/state.h"

/* Handles a request that has left its instance, which no longer refers to it. at_us may be in the
   future, because it is the end of the last step. */
BLIS_MUSTUSE blis_status blis__cluster_leave_instance(blis_cluster *cluster,
                                                      blis__cluster_request *request, int64_t at_us,
                                                      blis_error *error);

/*
 * Handles the end of a request's own attempt on its instance. The live record contains the final
 * state.
 */
BLIS_MUSTUSE blis_status blis__cluster_end_at_instance(blis_cluster *cluster,
                                                       blis__cluster_request *request,
                                                       int64_t end_us, blis_error *error);

/* Removes the request from its instance. */
BLIS_MUSTUSE blis_status blis__cluster_take_away(blis_cluster *cluster,
                                                 blis__cluster_request *request, blis_error *error);

/*
 * Ends a request in the state that is set in its record. No instance may hold the request. It is
 * reported unless a listener has sent it again.
 */
BLIS_MUSTUSE blis_status blis__cluster_end(blis_cluster *cluster, blis__cluster_request *request,
                                           int64_t end_us, const char *reason, blis_error *error);

/* Reports the outcome (or current state) of the request to the sink and frees the request. */
BLIS_MUSTUSE blis_status blis__cluster_report(blis_cluster *cluster, blis__cluster_request *request,
                                              int64_t end_us, const char *reason,
                                              blis_error *error);

/* Adds the energy of the request's tokens to *end if power is computed. */
void blis__end_add_drawn(const blis_cluster *cluster, blis_request_end *end,
                         const blis_drawn *drawn);

/*
 * The callbacks of every instance, which call those of the attempt (request_table.h). ud is the
 * cluster.
 */
extern const blis_instance_events blis__cluster_instance_events;

/* Adds the step events that the cluster's listeners need to *events. */
void blis__choose_step_events(const blis_cluster *cluster, blis_instance_events *events);

#endif
