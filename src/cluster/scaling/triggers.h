/* triggers.h - evaluations of the autoscaler between its intervals, when many requests wait or
 * few meet their targets.
 *
 * A trigger sets cluster->hooks.last_turn_us to the current time, so that the autoscaler is
 * evaluated after all other events of that time. A triggered evaluation must follow the previous
 * evaluation by at least the configured gap. Triggers that are not configured have no listeners. */
#ifndef BLIS_CLUSTER_SCALING_TRIGGERS_H
#define BLIS_CLUSTER_SCALING_TRIGGERS_H

#include "cluster/scaling/metrics.h"

/* The outcome of a request in the last minute. */
typedef struct blis__scale_outcome {
  int64_t time_us;
  bool kept; /* it met its targets */
} blis__scale_outcome;

typedef struct blis__scale_trigger {
  const blis_scaling_config *config; /* borrowed */
  int64_t looked_us;                 /* time of the last evaluation; -1 = never */
  bool has_queue;                    /* the queue limit was exceeded at the current time */
  bool has_miss;                     /* a target was missed at the current time */
  BLIS_ARRAY(blis__scale_outcome) outcomes;
  size_t first; /* first outcome of the last minute */
  size_t kept;  /* number of outcomes from `first` that met their targets */
} blis__scale_trigger;

/*
 * Initializes *trigger and adds its listeners. config must outlive *trigger. Call
 * blis__scale_trigger_deinit even after a failure.
 */
BLIS_MUSTUSE blis_status blis__scale_trigger_init(blis__scale_trigger *trigger,
                                                  blis_cluster *cluster,
                                                  const blis_scaling_config *config);
void blis__scale_trigger_deinit(blis__scale_trigger *trigger, const blis_cluster *cluster);

/* Returns the cause of an evaluation at the current time, other than the interval;
   BLIS_SCALE_BY_INTERVAL = none. O(1) amortized. */
blis_scale_cause blis__scale_trigger_of(blis__scale_trigger *trigger, const blis_cluster *cluster);

/* Records that the autoscaler is evaluated now, for any cause. */
void blis__scale_trigger_note_look(blis__scale_trigger *trigger, const blis_cluster *cluster);

#endif
