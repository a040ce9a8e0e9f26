/*
 * ending.h - the way of a request out of its instance and of the cluster.
 */
#ifndef BLIS_CLUSTER_ENDING_H
#define BLIS_CLUSTER_ENDING_H

#include "cluster/state.h"

/*
 * The request is with its instance no longer: counters and policies forget it
 * there, and a draining instance may be done.
 */
void blis__cluster_leave_instance(blis_cluster *cluster,
                                  blis__cluster_request *request);

/* The admission policy is told that an admitted request has ended. */
void blis__cluster_end_admission(blis_cluster *cluster,
                                 blis__cluster_request *request);

/*
 * A request, or an attempt of a cascade at it, has ended in the state it says;
 * nobody has it any more. Another model is asked, or blis__cluster_report.
 */
BLIS_MUSTUSE blis_status blis__cluster_end(blis_cluster *cluster,
                                           blis__cluster_request *request,
                                           int64_t end_us, const char *reason,
                                           blis_error *error);

/* Tells the sink how the request ended (or stands) and forgets it. */
BLIS_MUSTUSE blis_status blis__cluster_report(blis_cluster *cluster,
                                              blis__cluster_request *request,
                                              int64_t end_us,
                                              const char *reason,
                                              blis_error *error);

/* The instance is, or is no longer, a candidate. */
void blis__cluster_set_service(blis_cluster *cluster, uint32_t index,
                               blis_service service);

/* A draining instance without requests is gone. */
void blis__cluster_check_drained(blis_cluster *cluster, uint32_t index);

/* What the instances call; ud is the cluster. */
extern const blis_instance_events blis__cluster_instance_events;

#endif
