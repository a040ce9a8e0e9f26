/*
 * clock.h - the shared clock, which schedules the events of the cluster and of its instances.
 *
 * Requests, calls, and follow-ups are events in one queue. Each instance has its own events, and
 * may lag behind the cluster (see blis__cluster_bring_forward).
 */
#ifndef BLIS_CLUSTER_CLOCK_H
#define BLIS_CLUSTER_CLOCK_H

#include "cluster/state.h"

/*
 * Fills cluster->handlers with the event handlers of the core and of the features in
 * cluster->table.
 */
void blis__cluster_set_handlers(blis_cluster *cluster);

/* Schedules the admission or routing of a request. */
BLIS_MUSTUSE blis_status blis__cluster_schedule(blis_cluster *cluster,
                                                blis__cluster_request *request, int event_class,
                                                int64_t delay_us, blis_error *error);

/* Schedules the arrival of a request that does not come from the arrival stream. */
BLIS_MUSTUSE blis_status blis__cluster_schedule_arrival(blis_cluster *cluster,
                                                        const blis_request *arrival,
                                                        blis_error *error);

/* Like blis_cluster_call_at, with a given event class of the core that executes calls. */
BLIS_MUSTUSE blis_status blis__cluster_call_in(blis_cluster *cluster, int event_class,
                                               int64_t at_us,
                                               blis_status (*fn)(void *ud, blis_cluster *cluster,
                                                                 blis_error *error),
                                               void *ud, blis_error *error);

/* Counts a call or a delay. BLIS_ERR_STUCK if there is no other progress. */
BLIS_MUSTUSE blis_status blis__cluster_note_fruitless(blis_cluster *cluster, blis_error *error);

/* Records that the next event of the instance may have changed. */
static inline void blis__cluster_note_next(blis_cluster *cluster, uint32_t number) {
  bool has_eager = cluster->eager_events != NULL;
  if (has_eager && !cluster->is_eager[number]) {
    blis__laggards *late = cluster->laggards;
    late->numbers[late->count] = number;
    late->count += !late->is_one[number];
    late->is_one[number] = true;
    return;
  }
  blis_winner_tree_set(has_eager ? cluster->eager_events : cluster->next_events, number,
                       blis_instance_next_us(cluster->instances[number]));
}

/*
 * Enables eager instances. Call it before the first event. The events of eager instances are
 * executed in time order; only instances that are not eager may lag. Initially, no instance is
 * eager. BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__cluster_have_eager(blis_cluster *cluster);
void blis__cluster_free_eager(blis_cluster *cluster);

/* With eager instances: updates next_events before it is read. */
void blis__cluster_ask_laggards(const blis_cluster *cluster);

/* Returns the time of the next event of any instance; BLIS_TIME_NEVER_US = none. */
static inline int64_t blis__cluster_instances_next_us(const blis_cluster *cluster) {
  if (cluster->eager_events == NULL) {
    return blis_winner_tree_min_us(cluster->next_events);
  }
  blis__cluster_ask_laggards(cluster);
  int64_t next_us = blis_winner_tree_min_us(cluster->next_events);
  int64_t eager_us = blis_winner_tree_min_us(cluster->eager_events);
  return eager_us < next_us ? eager_us : next_us;
}

/* Returns the time of the cluster's next event, except arrivals from the source. */
static inline int64_t blis__cluster_planned_us(const blis_cluster *cluster) {
  int64_t next_us = blis_event_queue_next_us(cluster->queue);
  return cluster->hooks.sources_due_us < next_us ? cluster->hooks.sources_due_us : next_us;
}

/* Sets whether the instance is eager. The instance need not exist yet. */
void blis__cluster_set_eager(blis_cluster *cluster, uint32_t number, bool is_eager);

/*
 * Returns whether no event of the cluster is due. In this case, an event scheduled for the current
 * time would be the next one, so it may be executed directly.
 */
static inline bool blis__cluster_is_free(const blis_cluster *cluster) {
  int64_t now_us = cluster->now_us;
  return !cluster->is_stepped && blis__cluster_planned_us(cluster) > now_us &&
         (!cluster->has_arrival || cluster->arrival.arrival_us > now_us);
}

/* Executes the next event of the instance, and possibly more of its events before limit_us. */
BLIS_MUSTUSE blis_status blis__cluster_run_instance(blis_cluster *cluster, uint32_t number,
                                                    int64_t time_us, int64_t limit_us,
                                                    blis_error *error);

/* Continues the open step of an instance at the current time, see blis_instance_go_on. */
BLIS_MUSTUSE blis_status blis__cluster_go_on(blis_cluster *cluster, uint32_t number,
                                             int64_t step_us, blis_error *error);

/* Executes the events of a lagging instance before now_us. */
BLIS_MUSTUSE blis_status blis__cluster_bring_forward(blis_cluster *cluster, uint32_t number,
                                                     blis_error *error);

/* Like blis__cluster_bring_forward, but also executes the events at now_us, which normally follow
   all events of the cluster at that time. */
BLIS_MUSTUSE blis_status blis__cluster_bring_up_to_now(blis_cluster *cluster, uint32_t number,
                                                       blis_error *error);

#endif
