/*
 * send_again.h - requests that have lost their instance, and continue elsewhere.
 */
#ifndef BLIS_CLUSTER_INSTANCES_SEND_AGAIN_H
#define BLIS_CLUSTER_INSTANCES_SEND_AGAIN_H

#include "cluster/state.h"

/* Whether requests on an instance that is lost in this way are sent again. */
static inline bool blis__goes_on(blis_loss loss) {
  return loss.kind == BLIS_LOSS_REROUTED || loss.kind == BLIS_LOSS_RETRIED;
}

/*
 * The request is on no instance, and continues as blis__goes_on determines, like a
 * new request with the same arrival. BLIS_ERR_STUCK: it was retried too often.
 */
BLIS_MUSTUSE blis_status blis__send_again(blis_cluster *cluster, blis__cluster_request *request,
                                          blis_loss loss, blis_error *error);

#endif
