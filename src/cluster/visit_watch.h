/*
 * visit_watch.h - tells config.visits of visits, preemptions and states.
 */
#ifndef BLIS_CLUSTER_VISIT_WATCH_H
#define BLIS_CLUSTER_VISIT_WATCH_H

#include "cluster/state.h"

/* Before instances are made; nothing without config.visits. */
BLIS_MUSTUSE blis_status blis__visits_init(blis_cluster *cluster, blis_error *error);
void blis__free_visits(blis_cluster *cluster);

/* Instances report to the watch, too. */
void blis__choose_visit_events(const blis_cluster *cluster, blis_instance_events *events);

/* After that: listens, and tells how instances start. */
BLIS_MUSTUSE blis_status blis__add_visits(blis_cluster *cluster, blis_error *error);

/* Its state is another one, which was not announced. */
BLIS_MUSTUSE blis_status blis__visits_note_service(const blis_cluster *cluster, uint32_t index,
                                                   blis_error *error);

/* Its start has failed, and begins anew; its state is to be noted then. */
BLIS_MUSTUSE blis_status blis__visits_note_failed_start(const blis_cluster *cluster, uint32_t index,
                                                        blis_error *error);

#endif
