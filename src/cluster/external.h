/*
 * external.h - external input to a running cluster: new arrivals, and clients that cancel their
 * requests.
 *
 * Both take effect after the current time. A run with this input therefore equals a run whose
 * source had all arrivals and deadlines from the start. Clusters without external input have no
 * overhead.
 */
#ifndef BLIS_CLUSTER_EXTERNAL_H
#define BLIS_CLUSTER_EXTERNAL_H

#include "cluster/cluster.h"

/*
 * Sets whether external requests may still arrive. In an open cluster, periodic events continue
 * even without requests, and blis_cluster_run_until always moves the clock to the limit. Initially,
 * a cluster is not open.
 */
void blis_cluster_stay_open(blis_cluster *cluster, bool is_open);

/*
 * Queries the source again after it had no more requests. Does nothing if a request of the source
 * is still pending. The next request must arrive after blis_cluster_now_us; otherwise,
 * BLIS_ERR_INVALID. Must not be called inside an event. O(1).
 */
BLIS_MUSTUSE blis_status blis_cluster_resume_arrivals(blis_cluster *cluster, blis_error *error);

/*
 * Sets the deadline of the request with this number to at_us, the time at which its client cancels
 * it. The request then times out and its KV blocks are freed. An earlier deadline remains. A
 * request that has ended is not affected. If a feature holds the request, for example in a queue,
 * the request leaves when it reaches its instance. BLIS_ERR_INVALID unless at_us is after
 * blis_cluster_now_us. Must not be called inside an event. O(live requests).
 */
BLIS_MUSTUSE blis_status blis_cluster_leave_at(blis_cluster *cluster, int64_t number, int64_t at_us,
                                               blis_error *error);

#endif
