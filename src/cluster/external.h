/*
 * external.h - what reaches a cluster from outside while it runs: arrivals that its source did not
 * have before, and clients that give up.
 *
 * Both take effect after the present time of the clock, so a run with this input equals a run whose
 * source had all arrivals and deadlines from the start. A cluster that never gets input pays
 * nothing for it.
 */
#ifndef BLIS_CLUSTER_EXTERNAL_H
#define BLIS_CLUSTER_EXTERNAL_H

#include "cluster/cluster.h"

/*
 * Sets whether requests may still arrive from outside. In an open cluster, whatever repeats itself
 * goes on while there are no requests, and blis_cluster_run_until always moves the clock to the
 * limit. Initially it is not open.
 */
void blis_cluster_stay_open(blis_cluster *cluster, bool is_open);

/*
 * Asks the source for its next request again, after it had none. Does nothing while a request of
 * the source is still to arrive. The request must arrive after blis_cluster_now_us, else
 * BLIS_ERR_INVALID. Not to be called inside an event. O(1).
 */
BLIS_MUSTUSE blis_status blis_cluster_resume_arrivals(blis_cluster *cluster, blis_error *error);

/*
 * Sets the deadline of the request with this number to at_us, when its client gives up: the request
 * then times out, and its KV blocks are free again. An earlier deadline stays. A request that has
 * ended is left alone. A request that a feature holds, in a queue of its own for example, leaves
 * when it reaches its instance. BLIS_ERR_INVALID unless at_us is after blis_cluster_now_us. Not to
 * be called inside an event. O(live requests).
 */
BLIS_MUSTUSE blis_status blis_cluster_leave_at(blis_cluster *cluster, int64_t number, int64_t at_us,
                                               blis_error *error);

#endif
