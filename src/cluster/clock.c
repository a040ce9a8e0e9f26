/* clock.c - executes the next event of a request, a call, or an instance. */
#include <inttypes.h>
#include <stdio.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/feature.h"

enum {
  FRUITLESS_MAX = 1000000,
  /*
   * Maximum number of evaluations of features that may add instances before the run counts as
   * stuck.
   */
  FRUITLESS_LOOKS_MAX = 64
};

blis_status blis__cluster_schedule(blis_cluster *cluster, blis__cluster_request *request,
                                   int event_class, int64_t delay_us, blis_error *error) {
  BLIS_ASSERT(delay_us >= 0);
  blis__request_move(request, event_class == BLIS__CLUSTER_ADMISSION ? BLIS__AT_ADMISSION
                                                                     : BLIS__AT_ROUTING);
  const blis_event event = {.time_us = blis_time_after_us(cluster->now_us, delay_us),
                            .event_class = event_class,
                            .object = request};
  BLIS_TRY_MEM(blis_event_queue_push(cluster->queue, &event, NULL), error);
  return BLIS_OK;
}

blis_status blis__cluster_schedule_arrival(blis_cluster *cluster, const blis_request *arrival,
                                           blis_error *error) {
  BLIS_ASSERT(arrival->arrival_us >= cluster->now_us);
  uint32_t index;
  BLIS_TRY_MEM(blis_pool_take(&cluster->follow_ups, &index), error);
  *(blis_request *)blis_pool_item(&cluster->follow_ups, index) = *arrival;
  const blis_event event = {
      .time_us = arrival->arrival_us, .event_class = BLIS__CLUSTER_ARRIVAL, .number = index};
  if (blis_event_queue_push(cluster->queue, &event, NULL) != BLIS_OK) {
    blis_pool_give(&cluster->follow_ups, index);
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

blis_status blis_cluster_call_at(blis_cluster *cluster, int64_t at_us,
                                 blis_status (*fn)(void *ud, blis_cluster *cluster,
                                                   blis_error *error),
                                 void *ud, blis_error *error) {
  return blis__cluster_call_in(cluster, BLIS__CLUSTER_CALL, at_us, fn, ud, error);
}

blis_status blis__cluster_call_in(blis_cluster *cluster, int event_class, int64_t at_us,
                                  blis_status (*fn)(void *ud, blis_cluster *cluster,
                                                    blis_error *error),
                                  void *ud, blis_error *error) {
  if (at_us < cluster->now_us) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the time %" PRId64 " us is in the past: it is now %" PRId64 " us", at_us,
                     cluster->now_us);
  }
  uint32_t index;
  BLIS_TRY_MEM(blis_pool_take(&cluster->calls, &index), error);
  *(blis__scheduled_call *)blis_pool_item(&cluster->calls, index) = (blis__scheduled_call){fn, ud};
  const blis_event event = {.time_us = at_us, .event_class = event_class, .number = index};
  if (blis_event_queue_push(cluster->queue, &event, NULL) != BLIS_OK) {
    blis_pool_give(&cluster->calls, index);
    return blis_fail_nomem(error);
  }
  blis__listeners_need(&cluster->listeners, BLIS__NEEDS_STATE);
  return BLIS_OK;
}

bool blis_cluster_has_requests(const blis_cluster *cluster) {
  return cluster->counts.in_flight > 0 || cluster->has_arrival || cluster->is_open ||
         blis_pool_count(&cluster->follow_ups) > 0;
}

/*
 * Returns the last planned time, except for self-repeating events such as script functions and
 * delayed requests.
 */
static int64_t last_planned_us(const blis_cluster *cluster) {
  int64_t last_us = blis__hooks_last_us(&cluster->hooks, cluster);
  for (size_t i = 0; i < blis_event_queue_count(cluster->queue); i++) {
    uint64_t sequence;
    blis_event event = blis_event_queue_look(cluster->queue, i, &sequence);
    if (!blis__event_class_of(event.event_class)->repeats && event.time_us > last_us) {
      last_us = event.time_us;
    }
  }
  return last_us;
}

/* Returns whether a planned event may let a request continue, start an instance, or end the run. */
static bool is_change_due(const blis_cluster *cluster) {
  int64_t now_us = cluster->now_us;
  bool instances_may_come =
      cluster->may_bring_instances && cluster->looks - cluster->hope_looks < FRUITLESS_LOOKS_MAX;
  return cluster->life_due_us >= now_us || cluster->hope_us >= now_us || instances_may_come ||
         cluster->config.horizon_us != BLIS_TIME_NEVER_US || blis__features_expect_change(cluster);
}

/*
 * Functions that reschedule themselves and requests that are repeatedly deferred could continue
 * forever. This is harmless while a request can still make progress, or while another event is due.
 * This condition is checked once per FRUITLESS_MAX such events.
 */
blis_status blis__cluster_note_fruitless(blis_cluster *cluster, blis_error *error) {
  if (++cluster->fruitless == 1) {
    cluster->hope_looks = cluster->looks;
  }
  if (cluster->fruitless % FRUITLESS_MAX != 0) {
    return BLIS_OK;
  }
  /* Events that these evaluations plan do not count, so self-repeating calls end here. */
  if (cluster->fruitless == FRUITLESS_MAX) {
    cluster->hope_us = last_planned_us(cluster);
  }
  bool can_move = cluster->has_arrival || cluster->is_open ||
                  blis_pool_count(&cluster->follow_ups) > 0 ||
                  blis__cluster_instances_next_us(cluster) != BLIS_TIME_NEVER_US;
  if (can_move || is_change_due(cluster)) {
    return BLIS_OK;
  }
  char words[96] = "";
  blis__features_describe_waiting(cluster, words, sizeof words);
  return blis_fail(error, BLIS_ERR_STUCK,
                   "no request has made progress during the last %d scheduled functions and "
                   "delayed admissions, and none can; the time is "
                   "%" PRId64 " us, %" PRId64 " requests are waiting%s",
                   FRUITLESS_MAX, cluster->now_us, cluster->counts.in_flight, words);
}

void blis__cluster_ask_laggards(const blis_cluster *cluster) {
  blis__laggards *late = cluster->laggards;
  while (late->count > 0) {
    uint32_t number = late->numbers[--late->count];
    late->is_one[number] = false;
    blis_winner_tree_set(cluster->next_events, number,
                         blis_instance_next_us(cluster->instances[number]));
  }
}

blis_status blis__cluster_have_eager(blis_cluster *cluster) {
  uint32_t count = cluster->config.instance_count;
  blis__laggards *late = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *late);
  cluster->laggards = late;
  cluster->is_eager = blis_alloc_zeroed(&cluster->alloc, count, sizeof *cluster->is_eager);
  if (late == NULL || cluster->is_eager == NULL) {
    return BLIS_ERR_NOMEM;
  }
  late->is_one = blis_alloc_zeroed(&cluster->alloc, count, sizeof *late->is_one);
  /* One extra entry, because a number is written before it is counted. */
  late->numbers = blis_alloc_zeroed(&cluster->alloc, (size_t)count + 1, sizeof *late->numbers);
  if (late->is_one == NULL || late->numbers == NULL) {
    return BLIS_ERR_NOMEM;
  }
  cluster->eager_events = blis_winner_tree_new(&cluster->alloc, count);
  return cluster->eager_events == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

void blis__cluster_free_eager(blis_cluster *cluster) {
  const blis_alloc *alloc = &cluster->alloc;
  uint32_t count = cluster->config.instance_count;
  blis__laggards *late = cluster->laggards;
  if (late != NULL) {
    blis_alloc_free(alloc, late->is_one, count * sizeof *late->is_one);
    blis_alloc_free(alloc, late->numbers, ((size_t)count + 1) * sizeof *late->numbers);
    blis_alloc_free(alloc, late, sizeof *late);
  }
  blis_alloc_free(alloc, cluster->is_eager, count * sizeof *cluster->is_eager);
  blis_winner_tree_free(cluster->eager_events);
}

void blis__cluster_set_eager(blis_cluster *cluster, uint32_t number, bool is_eager) {
  if (number >= cluster->existing) {
    cluster->is_eager[number] = is_eager;
    return;
  }
  if (cluster->is_eager[number] != is_eager) {
    blis__cluster_ask_laggards(cluster);
    blis_winner_tree_clear(is_eager ? cluster->next_events : cluster->eager_events, number);
    cluster->is_eager[number] = is_eager;
    blis__cluster_note_next(cluster, number);
  }
}

/* Checks the status after events of an instance. */
static blis_status check_run(blis_cluster *cluster, uint32_t number, blis_status status,
                             const blis_error *cause, blis_error *error) {
  if (cluster->event_error.status != BLIS_OK) {
    *error = cluster->event_error;
    return error->status;
  }
  if (status != BLIS_OK) {
    return blis_fail(error, status, "%s: %s", cluster->ids[number], cause->message);
  }
  const blis__hook_list *executed = &cluster->hooks.points[BLIS__STEPS_EXECUTED];
  return executed->count == 0 ? BLIS_OK : blis__hooks_call(executed, cluster, number, error);
}

blis_status blis__cluster_go_on(blis_cluster *cluster, uint32_t number, int64_t step_us,
                                blis_error *error) {
  blis_error cause;
  cause.message[0] = '\0';
  cluster->running = number;
  blis_status status = blis_instance_go_on(cluster->instances[number], step_us, &cause);
  BLIS_TRY(check_run(cluster, number, status, &cause, error));
  blis__snapshot_instance_changed(&cluster->snapshot, number);
  blis__cluster_note_next(cluster, number);
  return BLIS_OK;
}

blis_status blis__cluster_run_instance(blis_cluster *cluster, uint32_t number, int64_t time_us,
                                       int64_t limit_us, blis_error *error) {
  blis_instance *instance = cluster->instances[number];
  BLIS_ASSERT(blis_instance_next_us(instance) == time_us && time_us < limit_us);
  bool clock_moved = true;
  int64_t before_us = cluster->now_us;
  cluster->now_us = time_us;
  cluster->running = number;
  blis_error cause; /* large, so it is not zeroed for every event */
  cause.message[0] = '\0';
  blis_status status = blis_instance_run_next(instance, limit_us, &clock_moved, &cause);
  BLIS_TRY(check_run(cluster, number, status, &cause, error));
  /* A lagging instance must not turn back the clock. */
  if (!clock_moved || time_us < before_us) {
    cluster->now_us = before_us;
  }
  BLIS_ASSERT(blis_instance_next_us(instance) >= time_us);
  cluster->fruitless = 0;
  blis__snapshot_instance_changed(&cluster->snapshot, number);
  blis__cluster_note_next(cluster, number);
  const blis__hook_list *ran = &cluster->hooks.points[BLIS__INSTANCE_RAN];
  return ran->count == 0 ? BLIS_OK : blis__hooks_call(ran, cluster, number, error);
}

static blis_status bring_to(blis_cluster *cluster, uint32_t number, int64_t limit_us,
                            blis_error *error) {
  const blis_instance *instance = cluster->instances[number];
  for (int64_t next_us = blis_instance_next_us(instance); next_us < limit_us;
       next_us = blis_instance_next_us(instance)) {
    BLIS_TRY(blis__cluster_run_instance(cluster, number, next_us, limit_us, error));
  }
  return BLIS_OK;
}

blis_status blis__cluster_bring_forward(blis_cluster *cluster, uint32_t number, blis_error *error) {
  return bring_to(cluster, number, cluster->now_us, error);
}

blis_status blis__cluster_bring_up_to_now(blis_cluster *cluster, uint32_t number,
                                          blis_error *error) {
  return bring_to(cluster, number, cluster->now_us + 1, error);
}
