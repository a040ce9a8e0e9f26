/* pending_events.h - lists scheduled events, to inspect a paused simulation. */
#ifndef BLIS_CLUSTER_PENDING_EVENTS_H
#define BLIS_CLUSTER_PENDING_EVENTS_H

#include "cluster/cluster.h"

typedef struct blis_pending_event {
  int64_t time_us;
  const char *kind;    /* "arrival", "routing", "instance", ...; static */
  const char *session; /* session of the request, for its ID; NULL = no request */
  int64_t request;     /* number of the request */
  int32_t round_index; /* round of the request */
  int32_t instance;    /* instance of the event; -1 = event of the cluster */
  int32_t order;       /* order among events at the same time */
  uint64_t sequence;   /* order within the same time and class */
} blis_pending_event;

/* Returns the time of the next event; BLIS_TIME_NEVER_US without events. */
int64_t blis_cluster_next_us(const blis_cluster *cluster);

/* Returns the number of events. For each instance, only its next event counts. */
size_t blis_cluster_pending_count(const blis_cluster *cluster);

/*
 * Fills events, which must have capacity for blis_cluster_pending_count events, in the order of
 * execution if nothing else is scheduled. O(n log n).
 */
void blis_cluster_pending_events(const blis_cluster *cluster, blis_pending_event *events);

#endif
