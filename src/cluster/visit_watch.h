/*
 * visit_watch.h - tells config.visits of visits, preemptions and states.
 */
#ifndef BLIS_CLUSTER_VISIT_WATCH_H
#define BLIS_CLUSTER_VISIT_WATCH_H

#include "cluster/state.h"

/* Its state is another one, which was not announced. */
BLIS_MUSTUSE blis_status blis__visits_note_service(const blis_cluster *cluster, uint32_t index,
                                                   blis_error *error);

/* Its start has failed, and begins anew; its state is to be noted then. */
BLIS_MUSTUSE blis_status blis__visits_note_failed_start(const blis_cluster *cluster, uint32_t index,
                                                        blis_error *error);

#endif
