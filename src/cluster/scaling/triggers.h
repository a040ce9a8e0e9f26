/* triggers.h - evaluations of the autoscaler between its intervals, when many requests wait or
 * few meet their targets.
 *
 * A trigger sets cluster->hooks.last_turn_us to the present time; the scaler is evaluated after
 * all other events of that time. A triggered evaluation requires at least the configured gap
 * since the last evaluation. Triggers that are not configured have no listeners. */
#ifndef BLIS_CLUSTER_SCALING_TRIGGERS_H
#define BLIS_CLUSTER_SCALING_TRIGGERS_H

#include "cluster/scaling/metrics.h"

/* How a request of the last minute ended. */
typedef struct blis__scale_outcome {
  int64_t time_us;
  bool kept; /* its targets */
} blis__scale_outcome;

typedef struct blis__scale_trigger {
  const blis_scaling_config *config; /* borrowed */
  int64_t looked_us;                 /* last; -1 = never */
  bool has_queue;                    /* many have waited at the present time */
  bool has_miss;                     /* a target was missed at this time */
  BLIS_ARRAY(blis__scale_outcome) outcomes;
  size_t first; /* of the last minute */
  size_t kept;  /* number of samples from there */
} blis__scale_trigger;

/* Adds its listeners; config outlives it. deinit whatever the status. */
BLIS_MUSTUSE blis_status blis__scale_trigger_init(blis__scale_trigger *trigger,
                                                  blis_cluster *cluster,
                                                  const blis_scaling_config *config);
void blis__scale_trigger_deinit(blis__scale_trigger *trigger, const blis_cluster *cluster);

/* Returns the cause of an evaluation at the present time, other than the interval;
   BLIS_SCALE_BY_INTERVAL = none. O(1) amortized. */
blis_scale_cause blis__scale_trigger_of(blis__scale_trigger *trigger, const blis_cluster *cluster);

/* The scaler looks now, for whatever reason. */
void blis__scale_trigger_note_look(blis__scale_trigger *trigger, const blis_cluster *cluster);

#endif
