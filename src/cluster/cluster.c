#include "cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/inline.h"
#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/feature.h"
#include "cluster/service.h"
#include "cluster/stages.h"
#include "policy/registry.h"

/* Keep the event loop small enough to be inlined: code for rare events would cost 30 instructions
   per event. */

enum {
  EVENTS_PER_INTERRUPT_CHECK = 256,
  CALLS_AT_ONE_TIME_MAX = 1000000,
};

/* Executing events. */

/*
 * Returns whether an arrival is next. At equal times, an arrival precedes all events in the queue.
 */
static bool is_arrival_next(const blis_cluster *cluster) {
  return cluster->has_arrival && cluster->arrival.arrival_us <= blis__cluster_planned_us(cluster);
}

static int64_t next_cluster_us(const blis_cluster *cluster) {
  int64_t next_us = blis__cluster_planned_us(cluster);
  return cluster->has_arrival && cluster->arrival.arrival_us < next_us ? cluster->arrival.arrival_us
                                                                       : next_us;
}

static inline blis_status call_hooks(blis_cluster *cluster, blis__hook_point point,
                                     blis_error *error) {
  const blis__hook_list *list = &cluster->hooks.points[point];
  return list->count == 0 ? BLIS_OK : blis__hooks_call(list, cluster, 0, error);
}

/* Called at the end of an event that may have freed capacity. */
static inline blis_status note_room(blis_cluster *cluster, blis_error *error) {
  return call_hooks(cluster, BLIS__ROOM_MADE, error);
}

static blis_status run_arrival(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  return blis__cluster_follow_up_arrives(cluster, (uint32_t)event->number, error);
}

static blis_status run_admission(blis_cluster *cluster, const blis_event *event,
                                 blis_error *error) {
  return blis__cluster_admit(cluster, event->object, error);
}

static blis_status run_routing(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  return blis__cluster_route(cluster, event->object, error);
}

static blis_status run_call(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  uint32_t index = (uint32_t)event->number;
  blis__scheduled_call call = *(blis__scheduled_call *)blis_pool_item(&cluster->calls, index);
  blis_pool_give(&cluster->calls, index);
  blis__listeners_need_no_more(&cluster->listeners, BLIS__NEEDS_STATE);
  if (++cluster->calls_at_now > CALLS_AT_ONE_TIME_MAX) {
    return blis_fail(error, BLIS_ERR_STUCK,
                     "%d functions were called at %" PRId64
                     " us; each seems to schedule another at the same time",
                     CALLS_AT_ONE_TIME_MAX, cluster->now_us);
  }
  BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
  cluster->is_busy = false;
  return call.fn(call.ud, cluster, error);
}

void blis__cluster_set_handlers(blis_cluster *cluster) {
  static blis__event_fn *const own[BLIS__EVENT_CLASS_COUNT] = {
#define OWN(name) [BLIS__CLUSTER_##name - BLIS__EVENT_CLASS_FIRST]
      OWN(LOADED) = run_call,     OWN(ARRIVAL) = run_arrival, OWN(ADMISSION) = run_admission,
      OWN(ROUTING) = run_routing, OWN(CHECK) = run_call,      OWN(SCALED) = run_call,
      OWN(CALL) = run_call,
#undef OWN
  };
  for (int k = 0; k < BLIS__EVENT_CLASS_COUNT; k++) {
    const blis__event_class *its = blis__event_class_of(BLIS__EVENT_CLASS_FIRST + k);
    BLIS_ASSERT((own[k] != NULL) == (its->kind != NULL && its->owner == BLIS__OF_CORE));
    cluster->handlers[k] = (blis__event_handler){own[k], its->makes_room};
    for (size_t i = 0; i < cluster->table->count; i++) {
      const blis__feature *feature = cluster->table->all[i];
      if (its->kind != NULL && its->owner == (int)feature->slot) {
        BLIS_ASSERT(feature->event != NULL);
        cluster->handlers[k].run = feature->event;
      }
    }
  }
}

/*
 * Returns whether a source is next. Due events of a source precede queued events of the same class.
 */
static bool source_goes_first(const blis_cluster *cluster) {
  const blis__clock_source *source = blis__hooks_first_due(&cluster->hooks);
  blis_event other;
  return !blis_event_queue_peek(cluster->queue, &other) || other.time_us > source->due_us ||
         (other.time_us == source->due_us && other.event_class >= source->event_class);
}

/* Executes an event other than an arrival. */
static BLIS_NOT_INLINE blis_status run_planned_event(blis_cluster *cluster, int64_t time_us,
                                                     blis_error *error) {
  if (cluster->hooks.sources_due_us == time_us && source_goes_first(cluster)) {
    BLIS_TRY(blis__hooks_first_due(&cluster->hooks)->run(cluster, error));
    return note_room(cluster, error);
  }
  blis_event event = {0};
  bool is_there = blis_event_queue_pop(cluster->queue, &event);
  BLIS_ASSERT(is_there);
  const blis__event_handler *handler =
      &cluster->handlers[event.event_class - BLIS__EVENT_CLASS_FIRST];
  BLIS_TRY(handler->run(cluster, &event, error));
  return handler->makes_room ? note_room(cluster, error) : BLIS_OK;
}

static blis_status run_cluster_event(blis_cluster *cluster, int64_t time_us, blis_error *error) {
  bool is_arrival = is_arrival_next(cluster);
  BLIS_ASSERT(time_us >= cluster->now_us);
  if (time_us != cluster->now_us) {
    cluster->now_us = time_us;
    cluster->calls_at_now = 0;
  }
  return is_arrival ? blis__cluster_arrive(cluster, error)
                    : run_planned_event(cluster, time_us, error);
}

static blis_status check_interrupt(blis_cluster *cluster, blis_error *error) {
  if (--cluster->until_interrupt_check > 0) {
    return BLIS_OK;
  }
  cluster->until_interrupt_check = EVENTS_PER_INTERRUPT_CHECK;
  const blis_cluster_config *config = &cluster->config;
  if (config->interrupted != NULL && config->interrupted(config->interrupted_ud)) {
    return blis_fail(error, BLIS_ERR_INTERRUPTED, "interrupted at %" PRId64 " us of simulated time",
                     cluster->now_us);
  }
  return BLIS_OK;
}

/*
 * Returns the end of the time that instances may reach. The last turn of a time follows all other
 * events of that time, so an instance may run up to and including it, or up to the next event of
 * the cluster.
 */
static int64_t end_of_instances_us(const blis_cluster *cluster, int64_t cluster_us) {
  int64_t turn_us = blis_time_after_us(cluster->hooks.last_turn_us, 1);
  return cluster_us < turn_us ? cluster_us : turn_us;
}

static blis_status run_last_turn(blis_cluster *cluster, blis_error *error) {
  int64_t turn_us = cluster->hooks.last_turn_us;
  BLIS_ASSERT(turn_us >= cluster->now_us);
  if (turn_us != cluster->now_us) {
    cluster->now_us = turn_us;
    cluster->calls_at_now = 0;
  }
  cluster->is_busy = false;
  return cluster->hooks.last_turn(cluster, error);
}

/* The instance that may execute its next event. */
typedef struct turn {
  uint32_t number;
  int64_t time_us; /* time of its next event; BLIS_TIME_NEVER_US = no event */
  bool runs_ahead; /* it may also execute later events */
} turn;

static inline turn first_of(const blis_winner_tree *events) {
  turn first = {.time_us = BLIS_TIME_NEVER_US};
  blis_winner_tree_min(events, &first.number, &first.time_us);
  return first;
}

/* With pools: returns the turn of an eager instance, if any. Its events may cause other events. */
static turn eager_turn(const blis_cluster *cluster, int64_t cluster_us, int64_t last_us) {
  turn next = first_of(cluster->eager_events);
  int64_t next_us = cluster_us < next.time_us ? cluster_us : next.time_us;
  if (next_us > last_us || next_us == BLIS_TIME_NEVER_US) {
    /* The events of these instances cannot cause other events. */
    blis__cluster_ask_laggards(cluster);
    next = first_of(cluster->next_events);
    next.runs_ahead = blis__listeners_let_run_ahead(&cluster->listeners);
  }
  return next;
}

/* Returns the next turn if order matters, with pools. */
static turn ordered_turn(const blis_cluster *cluster) {
  blis__cluster_ask_laggards(cluster);
  const turn eager = first_of(cluster->eager_events);
  const turn other = first_of(cluster->next_events);
  bool is_eager =
      eager.time_us != other.time_us ? eager.time_us < other.time_us : eager.number < other.number;
  return is_eager ? eager : other;
}

static BLIS_NOT_INLINE turn turn_with_eager(const blis_cluster *cluster, int64_t cluster_us,
                                            int64_t last_us, bool lets_lag) {
  return lets_lag && cluster->hooks.last_turn_us == BLIS_TIME_NEVER_US
             ? eager_turn(cluster, cluster_us, last_us)
             : ordered_turn(cluster);
}

static inline turn next_turn(const blis_cluster *cluster, int64_t cluster_us, int64_t last_us,
                             bool may_run_ahead, bool lets_lag) {
  if (cluster->eager_events != NULL) {
    return turn_with_eager(cluster, cluster_us, last_us, lets_lag);
  }
  turn next = first_of(cluster->next_events);
  next.runs_ahead = may_run_ahead && blis__listeners_let_run_ahead(&cluster->listeners);
  return next;
}

/*
 * Executes the next event if it is not later than last_us. If the listeners permit it, instances
 * lag behind the cluster's events until their next request, and the steps in between are computed
 * together. Instances may also run ahead of each other, but not beyond last_us or past the next
 * event of the cluster. Eager instances (clock.h) do neither.
 */
static BLIS_ALWAYS_INLINE blis_status run_one(blis_cluster *cluster, int64_t last_us,
                                              bool may_run_ahead, bool *done, blis_error *error) {
  int64_t cluster_us = next_cluster_us(cluster);
  bool lets_lag = may_run_ahead && blis__listeners_let_lag(&cluster->listeners);
  const turn chosen = next_turn(cluster, cluster_us, last_us, may_run_ahead, lets_lag);
  int64_t instance_us = chosen.time_us;
  int64_t next_us = cluster_us <= instance_us ? cluster_us : instance_us;
  bool is_last_turn = cluster->hooks.last_turn_us < next_us;
  next_us = is_last_turn ? cluster->hooks.last_turn_us : next_us;
  *done = next_us > last_us || next_us == BLIS_TIME_NEVER_US;
  if (*done) {
    return BLIS_OK;
  }
  BLIS_TRY(check_interrupt(cluster, error));
  blis_status status;
  if (is_last_turn) {
    return run_last_turn(cluster, error);
  }
  cluster->is_busy = true;
  bool goes_first = cluster_us <= instance_us ||
                    (cluster_us <= last_us && cluster_us <= cluster->hooks.last_turn_us &&
                     cluster_us != BLIS_TIME_NEVER_US && lets_lag && cluster->eager_events == NULL);
  if (goes_first) {
    status = run_cluster_event(cluster, cluster_us, error);
  } else {
    int64_t limit_us = blis_time_after_us(chosen.runs_ahead ? last_us : instance_us, 1);
    if (cluster->hooks.run_limit_us != NULL) {
      limit_us = cluster->hooks.run_limit_us(cluster, chosen.number, instance_us, limit_us,
                                             cluster_us, last_us);
    }
    limit_us = blis_min_i64(limit_us, end_of_instances_us(cluster, cluster_us));
    status = blis__cluster_run_instance(cluster, chosen.number, instance_us, limit_us, error);
    if (status == BLIS_OK) {
      status = note_room(cluster, error);
    }
  }
  if (status == BLIS_OK) {
    status = call_hooks(cluster, BLIS__EVENT_OVER, error);
  }
  cluster->is_busy = false;
  return status;
}

blis_status blis_cluster_step(blis_cluster *cluster, bool *done, blis_error *error) {
  cluster->is_stepped = true;
  blis_status status = run_one(cluster, cluster->config.horizon_us, false, done, error);
  cluster->is_stepped = false;
  return status;
}

/* Advances the clock to the end of the run. Instances can be ahead of last_us, and the end of the
   step in which a request leaves can be after last_us. */
static void catch_up(blis_cluster *cluster, int64_t last_us) {
  for (uint32_t i = 0; i < cluster->existing; i++) {
    blis_instance_stats stats;
    blis_instance_get_stats(cluster->instances[i], &stats);
    int64_t reached_us = stats.end_us < last_us ? stats.end_us : last_us;
    if (reached_us > cluster->now_us) {
      cluster->now_us = reached_us;
    }
  }
}

blis_status blis_cluster_run_until(blis_cluster *cluster, int64_t limit_us, blis_error *error) {
  int64_t horizon_us = cluster->config.horizon_us;
  int64_t last_us = limit_us < horizon_us ? limit_us : horizon_us;
  bool done = false;
  while (!done) {
    BLIS_TRY(run_one(cluster, last_us, true, &done, error));
  }
  catch_up(cluster, last_us);
  bool has_more = next_cluster_us(cluster) != BLIS_TIME_NEVER_US ||
                  cluster->hooks.last_turn_us != BLIS_TIME_NEVER_US ||
                  blis__cluster_instances_next_us(cluster) != BLIS_TIME_NEVER_US;
  if ((has_more || cluster->is_open) && last_us > cluster->now_us) {
    cluster->now_us = last_us;
    cluster->calls_at_now = 0;
  }
  return BLIS_OK;
}

/* Closing. */

static blis_status check_books(const blis_cluster *cluster, blis_error *error) {
  const blis_cluster_counts *c = &cluster->counts;
  int64_t ended =
      c->rejected + c->completed + c->timed_out + c->unservable + c->failed + c->unfinished;
  blis_instance_stats sum = {0};
  for (uint32_t i = 0; i < cluster->existing; i++) {
    blis_instance_stats stats;
    blis_instance_get_stats(cluster->instances[i], &stats);
    sum.completed += stats.completed;
    sum.timed_out += stats.timed_out;
    sum.unservable += stats.unservable;
  }
  if (c->arrived != ended || sum.completed != c->completed + cluster->dropped.completed ||
      sum.timed_out != c->timed_out + cluster->dropped.timed_out ||
      sum.unservable != c->unservable + cluster->dropped.unservable) {
    return blis_fail(error, BLIS_ERR_STUCK,
                     "requests were lost: %" PRId64 " arrived, %" PRId64
                     " ended or still in flight",
                     c->arrived, ended);
  }
  return BLIS_OK;
}

blis_status blis_cluster_finish(blis_cluster *cluster, blis_error *error) {
  BLIS_TRY(BLIS__TELL(cluster, BLIS__FINISHING, error, .request = NULL));
  for (uint32_t i = 0; i < cluster->existing; i++) {
    BLIS_TRY(blis_instance_close(cluster->instances[i], error));
  }
  while (cluster->requests.first != NULL) {
    cluster->counts.unfinished++;
    BLIS_TRY(blis__cluster_report(cluster, cluster->requests.first, cluster->now_us, NULL, error));
  }
  BLIS_ASSERT(cluster->counts.in_flight == 0);
  return check_books(cluster, error);
}

/* Queries. */

int64_t blis_cluster_now_us(const blis_cluster *cluster) {
  return cluster->now_us;
}

void blis_cluster_get_counts(const blis_cluster *cluster, blis_cluster_counts *counts) {
  *counts = cluster->counts;
}

uint32_t blis_cluster_instance_count(const blis_cluster *cluster) {
  return cluster->existing;
}

const blis_instance *blis_cluster_instance(const blis_cluster *cluster, uint32_t index) {
  return cluster->instances[index];
}

const char *blis_cluster_instance_id(const blis_cluster *cluster, uint32_t index) {
  return cluster->ids[index];
}

bool blis_cluster_has_history(const blis_cluster *cluster) {
  return cluster->has_prefill_history;
}

double blis_cluster_signal(const blis_cluster *cluster, uint32_t index, blis_signal signal) {
  return blis__snapshot_live(&cluster->snapshot, index, signal);
}

blis_status blis_cluster_change_routing(blis_cluster *cluster, const blis_params *params,
                                        blis_error *error) {
  return blis_router_change(&cluster->router, params, error);
}
