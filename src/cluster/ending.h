/* ending.h - the path of a request out of its instance and out of the cluster. */
#ifndef BLIS_CLUSTER_ENDING_H
#define BLIS_CLUSTER_ENDING_H

#include "cluster/state.h"

/* The request has left its instance, which no longer refers to it. at_us can be in the future:
   the end of its last step. */
BLIS_MUSTUSE blis_status blis__cluster_leave_instance(blis_cluster *cluster,
                                                      blis__cluster_request *request, int64_t at_us,
                                                      blis_error *error);

/* Its instance has ended the request's own attempt, in the state that it says. */
BLIS_MUSTUSE blis_status blis__cluster_end_at_instance(blis_cluster *cluster,
                                                       blis__cluster_request *request,
                                                       int64_t end_us, blis_error *error);

/* Removes the request from its instance. */
BLIS_MUSTUSE blis_status blis__cluster_take_away(blis_cluster *cluster,
                                                 blis__cluster_request *request, blis_error *error);

/*
 * Ends a request in the state that is set; no instance has it. It is reported,
 * unless a listener has sent it again.
 */
BLIS_MUSTUSE blis_status blis__cluster_end(blis_cluster *cluster, blis__cluster_request *request,
                                           int64_t end_us, const char *reason, blis_error *error);

/* Reports the outcome (or current state) of the request to the sink, and frees it. */
BLIS_MUSTUSE blis_status blis__cluster_report(blis_cluster *cluster, blis__cluster_request *request,
                                              int64_t end_us, const char *reason,
                                              blis_error *error);

/* Adds the energy of its tokens, if power is computed. */
void blis__end_add_drawn(const blis_cluster *cluster, blis_request_end *end,
                         const blis_drawn *drawn);

/* Callbacks of every instance, which call the attempt's (request_table.h); ud is the cluster. */
extern const blis_instance_events blis__cluster_instance_events;

/* Adds the step events that the cluster's listeners need to *events. */
void blis__choose_step_events(const blis_cluster *cluster, blis_instance_events *events);

#endif
