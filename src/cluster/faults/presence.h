/*
 * presence.h - the number of instances over time, if faults or a market remove
 * instances. Clusters without such faults store nothing. A group of data-parallel
 * ranks counts as one instance.
 *
 * A change costs O(1) time, and 40 bytes per time of a change. There are a few such
 * times per fault (of which a run has at most 100,000, see fault_plan.h), and per
 * decision of an autoscaler or a script.
 */
#ifndef BLIS_CLUSTER_FAULTS_PRESENCE_H
#define BLIS_CLUSTER_FAULTS_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cluster/cluster.h"

typedef struct blis_presence_level {
  int64_t time_us;
  int64_t serving;   /* they take requests */
  int64_t leaving;   /* they finish their requests, and accept no new ones */
  int64_t starting;  /* they do not serve yet, or not again */
  int64_t of_market; /* serving instances that a market may reclaim */
} blis_presence_level;

/* In order of time, none at the same; borrowed. False: faults are not set. */
bool blis_cluster_get_presence(const blis_cluster *cluster, const blis_presence_level **levels,
                               size_t *count);

/* A market may take the instances of a group away; before the first event, and
   when faults are set. */
BLIS_MUSTUSE blis_status blis_cluster_set_market(blis_cluster *cluster, uint32_t group,
                                                 blis_error *error);

/* How long instances that a market may take away have served. */
typedef struct blis_market_times {
  int64_t span_us;    /* from 0 to the end of the run, and of its requests */
  int64_t wanted;     /* how many instances these are */
  int64_t full_us;    /* in which the wanted number served */
  int64_t serving_us; /* sum over all instances */
} blis_market_times;

/* Times of a run that ended at end_us; some requests may have ended later. Returns false if no
   market was set. O(levels). */
bool blis_cluster_get_market_times(const blis_cluster *cluster, int64_t end_us,
                                   blis_market_times *times);

/* Starts counting; called when faults are set. */
BLIS_MUSTUSE blis_status blis__add_presence(blis_cluster *cluster);

#endif
