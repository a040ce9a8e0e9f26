/*
 * send_again.h - requests that have lost their instance, and go on elsewhere.
 */
#ifndef BLIS_CLUSTER_INSTANCES_SEND_AGAIN_H
#define BLIS_CLUSTER_INSTANCES_SEND_AGAIN_H

#include "cluster/state.h"

/* Whether those that lose their instance so are sent on their way again. */
static inline bool blis__goes_on(blis_loss loss) {
  return loss.kind == BLIS_LOSS_REROUTED || loss.kind == BLIS_LOSS_RETRIED;
}

/*
 * The request is nowhere any more, and goes on as blis__goes_on has it, as if
 * it were a new one of the same arrival. BLIS_ERR_STUCK: it has done so too
 * often.
 */
BLIS_MUSTUSE blis_status blis__send_again(blis_cluster *cluster, blis__cluster_request *request,
                                          blis_loss loss, blis_error *error);

#endif
