/*
 * link_clock.h - schedules the next change of links (link.h) as an event of the cluster. There is
 * at most one such event, which is rescheduled when the links change.
 */
#ifndef BLIS_CLUSTER_LINKS_LINK_CLOCK_H
#define BLIS_CLUSTER_LINKS_LINK_CLOCK_H

#include "base/containers/event_queue.h"
#include "cluster/cluster.h"
#include "cluster/links/link.h"

typedef struct blis__link_clock {
  int event_class;
  int64_t due_us; /* time of the event; BLIS_TIME_NEVER_US = no event */
  blis_event_handle event;
} blis__link_clock;

/* Updates the event. Call it after every change of the links. */
BLIS_MUSTUSE blis_status blis__link_clock_set(blis__link_clock *clock, const blis__links *links,
                                              blis_cluster *cluster, blis_error *error);

/* Clears the current event, which is being executed. */
static inline void blis__link_clock_rang(blis__link_clock *clock) {
  clock->due_us = BLIS_TIME_NEVER_US;
}

#endif
