#include "cluster/scaling/triggers.h"

#include "base/invariant.h"
#include "cluster/pool_state.h"

enum { WINDOW_US = 60000000, LEAST_OUTCOMES = 10 };

static bool may_look(const blis__scale_trigger *trigger, const blis_cluster *cluster) {
  return trigger->looked_us < 0 ||
         cluster->now_us - trigger->looked_us >= trigger->config->trigger_gap_us;
}

static void look_now(blis_cluster *cluster) {
  if (cluster->hooks.last_turn_us > cluster->now_us) {
    cluster->hooks.last_turn_us = cluster->now_us;
  }
}

/* Queues. They grow at these moments. Preempted requests are noticed at the next one. */

static void note_queue(blis__scale_trigger *trigger, blis_cluster *cluster, int64_t depth) {
  if (depth >= trigger->config->trigger_queue_depth && may_look(trigger, cluster)) {
    trigger->has_queue = true;
    look_now(cluster);
  }
}

static blis_status on_joined(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  (void)error;
  blis_instance_stats stats;
  blis_instance_get_stats(cluster->instances[news->instance], &stats);
  note_queue(ud, cluster, stats.queue_depth);
  return BLIS_OK;
}

static blis_status on_waiting(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  (void)news, (void)error;
  note_queue(ud, cluster, blis__waiting_for_pool(cluster));
  return BLIS_OK;
}

/* Targets. */

/* Drops expired outcomes once they make up half of the array. */
static void forget_old(blis__scale_trigger *trigger, int64_t now_us) {
  size_t count = trigger->outcomes.count;
  blis__scale_outcome *items = trigger->outcomes.items;
  while (trigger->first < count && items[trigger->first].time_us <= now_us - WINDOW_US) {
    trigger->kept -= items[trigger->first++].kept;
  }
  if (trigger->first > count / 2) {
    for (size_t i = trigger->first; i < count; i++) {
      items[i - trigger->first] = items[i];
    }
    trigger->outcomes.count = count - trigger->first;
    trigger->first = 0;
  }
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  blis__scale_trigger *trigger = ud;
  const blis__scale_outcome outcome = {cluster->now_us,
                                       blis__keeps_scale_targets(trigger->config, news->end)};
  BLIS_TRY_MEM(blis_array_push(&cluster->alloc, &trigger->outcomes, outcome), error);
  trigger->kept += outcome.kept;
  forget_old(trigger, cluster->now_us);
  if (!outcome.kept && may_look(trigger, cluster)) {
    trigger->has_miss = true;
    look_now(cluster);
  }
  return BLIS_OK;
}

static bool misses_too_much(blis__scale_trigger *trigger, int64_t now_us) {
  forget_old(trigger, now_us);
  size_t count = trigger->outcomes.count - trigger->first;
  BLIS_ASSERT(trigger->kept <= count);
  return count >= LEAST_OUTCOMES &&
         (double)trigger->kept < trigger->config->trigger_slo_attainment * (double)count;
}

/* Functions for the autoscaler. */

blis_scale_cause blis__scale_trigger_of(blis__scale_trigger *trigger, const blis_cluster *cluster) {
  bool has_queue = trigger->has_queue;
  bool has_miss = trigger->has_miss;
  trigger->has_queue = false;
  trigger->has_miss = false;
  if (has_queue) {
    return BLIS_SCALE_BY_QUEUE;
  }
  return has_miss && misses_too_much(trigger, cluster->now_us) ? BLIS_SCALE_BY_SLO
                                                               : BLIS_SCALE_BY_INTERVAL;
}

void blis__scale_trigger_note_look(blis__scale_trigger *trigger, const blis_cluster *cluster) {
  trigger->looked_us = cluster->now_us;
}

/* Queues are read at the time of the clock. Missed targets must be reported in time order. */
blis_status blis__scale_trigger_init(blis__scale_trigger *trigger, blis_cluster *cluster,
                                     const blis_scaling_config *config) {
  *trigger = (blis__scale_trigger){.config = config, .looked_us = -1};
  const blis__listener of_queue = {
      .ud = trigger,
      .phase = BLIS__BOOKS,
      .need = BLIS__NEEDS_STATE,
      .on = {[BLIS__JOINED] = on_joined, [BLIS__WAITING] = on_waiting}};
  const blis__listener of_targets = {.ud = trigger,
                                     .phase = BLIS__BOOKS,
                                     .need = BLIS__NEEDS_ORDER,
                                     .on = {[BLIS__ENDED] = on_ended}};
  if (config->trigger_queue_depth > 0) {
    BLIS_TRY(blis__listeners_add(&cluster->listeners, &of_queue));
  }
  return config->trigger_slo_attainment > 0 ? blis__listeners_add(&cluster->listeners, &of_targets)
                                            : BLIS_OK;
}

void blis__scale_trigger_deinit(blis__scale_trigger *trigger, const blis_cluster *cluster) {
  blis_array_deinit(&cluster->alloc, &trigger->outcomes);
}
