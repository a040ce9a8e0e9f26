/*
 * pending_events.h - the scheduled events, for inspecting a simulation that is
 * paused.
 */
#ifndef BLIS_CLUSTER_PENDING_EVENTS_H
#define BLIS_CLUSTER_PENDING_EVENTS_H

#include "cluster/cluster.h"

typedef struct blis_pending_event {
  int64_t time_us;
  const char *kind;    /* "arrival", "routing", "instance", ...; static */
  const char *session; /* of the request, for its id; NULL = it has no request */
  int64_t request;     /* its number */
  int32_t round_index; /* of it */
  int32_t instance;    /* whose next event it is; -1 = of the cluster */
  int32_t order;       /* among events of one time */
  uint64_t sequence;   /* order within one time and class */
} blis_pending_event;

/* Time of the next event; BLIS_TIME_NEVER_US without events. */
int64_t blis_cluster_next_us(const blis_cluster *cluster);

/* How many events there are: for each instance at most one, its next. */
size_t blis_cluster_pending_count(const blis_cluster *cluster);

/*
 * Fills events, which has capacity for that many, in the order in which they will
 * happen if nothing else is scheduled. O(n log n).
 */
void blis_cluster_pending_events(const blis_cluster *cluster, blis_pending_event *events);

#endif
