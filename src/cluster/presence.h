/*
 * presence.h - how many instances there were, from when on, where faults or a
 * market take them away. Clusters without such faults keep nothing of it. A
 * group of data-parallel ranks counts as one instance.
 *
 * A change costs O(1), and so does what is kept of it: 32 bytes per time at
 * which something changed. There are a few such times per fault (of which a run
 * has at most 100,000, see fault_plan.h), and per decision of an autoscaler or
 * a script.
 */
#ifndef BLIS_CLUSTER_PRESENCE_H
#define BLIS_CLUSTER_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cluster/cluster.h"

typedef struct blis_presence_level {
  int64_t time_us;
  int64_t serving;  /* they take requests */
  int64_t leaving;  /* they finish what they have, and take nothing new */
  int64_t starting; /* they do not serve yet, or not again */
} blis_presence_level;

/* In order of time, none at the same; borrowed. False: faults are not set. */
bool blis_cluster_get_presence(const blis_cluster *cluster,
                               const blis_presence_level **levels,
                               size_t *count);

#endif
