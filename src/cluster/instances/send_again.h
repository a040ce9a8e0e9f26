/* send_again.h - resends requests that have lost their instance. */
#ifndef BLIS_CLUSTER_INSTANCES_SEND_AGAIN_H
#define BLIS_CLUSTER_INSTANCES_SEND_AGAIN_H

#include "cluster/state.h"

/* Returns whether requests are sent again after this kind of loss. */
static inline bool blis__goes_on(blis_loss loss) {
  return loss.kind == BLIS_LOSS_REROUTED || loss.kind == BLIS_LOSS_RETRIED;
}

/*
 * Sends a request again according to loss. The request must not be on an instance. It is handled
 * like a new request with the same arrival time. BLIS_ERR_STUCK if it was sent again too often.
 */
BLIS_MUSTUSE blis_status blis__send_again(blis_cluster *cluster, blis__cluster_request *request,
                                          blis_loss loss, blis_error *error);

#endif
