/*
 * hooks.h - extensions of the clock by features: work after events, due times outside the event
 * queue, a last turn at a given time, and limits on how far instances run ahead.
 *
 * Listeners (listeners.h) are called when the state of requests and instances changes. Hooks are
 * called by the clock. A point without hooks costs one comparison.
 */
#ifndef BLIS_CLUSTER_HOOKS_H
#define BLIS_CLUSTER_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/event_queue.h"
#include "base/error.h"
#include "base/invariant.h"
#include "cluster/cluster.h"

typedef enum blis__hook_point {
  BLIS__STEPS_EXECUTED, /* an instance has executed events; called at their time */
  /* Like STEPS_EXECUTED, after the clock and the instance's next event are set. */
  BLIS__INSTANCE_RAN,
  BLIS__ROOM_MADE,  /* an event that may have freed capacity has ended */
  BLIS__EVENT_OVER, /* any event of the cluster or of an instance has ended */
  BLIS__HOOK_POINT_COUNT
} blis__hook_point;

/* instance is the instance that ran; 0 at points without an instance. */
typedef blis_status blis__hook_fn(blis_cluster *cluster, uint32_t instance, blis_error *error);

enum { BLIS__HOOKS_MAX = 4 };

typedef struct blis__hook_list {
  uint32_t count;
  blis__hook_fn *all[BLIS__HOOKS_MAX];
} blis__hook_list;

/*
 * A due time that changes often and is therefore not in the queue. At equal times, it precedes the
 * events of its class.
 */
typedef struct blis__clock_source {
  int64_t due_us;  /* BLIS_TIME_NEVER_US = nothing is due */
  int event_class; /* class of the due event */
  blis_status (*run)(blis_cluster *cluster, blis_error *error);
  /* Returns the last planned time; -1 = nothing planned. NULL = due_us is the only planned time. */
  int64_t (*last_us)(const blis_cluster *cluster);
  struct blis__clock_source *next;
} blis__clock_source;

typedef struct blis__hooks {
  blis__hook_list points[BLIS__HOOK_POINT_COUNT];

  /* The sources, which are owned by their features, and the earliest of their due times. */
  blis__clock_source *sources;
  int64_t sources_due_us;

  /*
   * Time of a last turn (BLIS_TIME_NEVER_US = none). last_turn is called after everything else at
   * this time, when instances have executed their events. last_turn is NULL if no feature has one.
   */
  int64_t last_turn_us;
  blis_status (*last_turn)(blis_cluster *cluster, blis_error *error);
  const char *last_turn_kind; /* for lists of due events */

  /*
   * Returns how far an instance may run if its next event is at time_us: limit_us or later.
   * cluster_us is the time of the next event of the cluster, and last_us is the last time that the
   * run may reach. NULL = limit_us.
   */
  int64_t (*run_limit_us)(const blis_cluster *cluster, uint32_t instance, int64_t time_us,
                          int64_t limit_us, int64_t cluster_us, int64_t last_us);
} blis__hooks;

void blis__hooks_init(blis__hooks *hooks);

/* Hooks of a point are called in the order in which they were added. */
void blis__hooks_add(blis__hooks *hooks, blis__hook_point point, blis__hook_fn *hook);

/* Adds a source, which is borrowed and has nothing due yet. */
void blis__hooks_add_source(blis__hooks *hooks, blis__clock_source *source);

/* Changes the due time; O(sources). */
void blis__hooks_set_due(blis__hooks *hooks, blis__clock_source *source, int64_t due_us);

/* Returns a source with the earliest due time. */
blis__clock_source *blis__hooks_first_due(const blis__hooks *hooks);

/* Returns the last planned time of all sources; -1 = nothing planned. */
int64_t blis__hooks_last_us(const blis__hooks *hooks, const blis_cluster *cluster);

BLIS_MUSTUSE blis_status blis__hooks_call(const blis__hook_list *list, blis_cluster *cluster,
                                          uint32_t instance, blis_error *error);

#endif
