/*
 * scaler.h - the autoscaler's look at cluster->check_us, for the clock.
 */
#ifndef BLIS_CLUSTER_SCALER_H
#define BLIS_CLUSTER_SCALER_H

#include "cluster/state.h"

/* At check_us, which it sets anew; no event is being executed.
 */
BLIS_MUSTUSE blis_status blis__scaler_check(blis_cluster *cluster, blis_error *error);

#endif
