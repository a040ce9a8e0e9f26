/*
 * presence.h - records the number of instances over time if faults or a spot market remove
 * instances. Clusters without such faults store nothing. A group of data-parallel ranks counts as
 * one instance.
 *
 * A change takes O(1) time, and each distinct time of a change takes 40 bytes. There are a few
 * changes per fault (a run has at most 100,000 faults, see fault_plan.h) and per decision of an
 * autoscaler or a script.
 */
#ifndef BLIS_CLUSTER_FAULTS_PRESENCE_H
#define BLIS_CLUSTER_FAULTS_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cluster/cluster.h"

typedef struct blis_presence_level {
  int64_t time_us;
  int64_t serving;   /* instances that accept requests */
  int64_t leaving;   /* instances that finish their requests and accept no new ones */
  int64_t starting;  /* instances that do not serve yet, or not again */
  int64_t of_market; /* serving instances that the spot market may reclaim */
} blis_presence_level;

/*
 * Stores the levels, with ascending and distinct times; borrowed. Returns false if no faults are
 * set.
 */
bool blis_cluster_get_presence(const blis_cluster *cluster, const blis_presence_level **levels,
                               size_t *count);

/* Marks the instances of a group as reclaimable by a spot market. Call it before the first event,
   and only if faults are set. */
BLIS_MUSTUSE blis_status blis_cluster_set_market(blis_cluster *cluster, uint32_t group,
                                                 blis_error *error);

/* Serving times of instances that a spot market may reclaim. */
typedef struct blis_market_times {
  int64_t span_us;    /* time until the run and all its requests have ended */
  int64_t wanted;     /* number of these instances */
  int64_t full_us;    /* time during which the wanted number served */
  int64_t serving_us; /* total over all these instances */
} blis_market_times;

/* Stores the times of a run that ended at end_us; some requests may have ended later. Returns false
   if no market is set. O(levels). */
bool blis_cluster_get_market_times(const blis_cluster *cluster, int64_t end_us,
                                   blis_market_times *times);

/* Starts recording. Called when faults are set. */
BLIS_MUSTUSE blis_status blis__add_presence(blis_cluster *cluster);

#endif
