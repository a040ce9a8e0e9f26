/* control_loop.c - evaluates an autoscaler at its intervals, and maintains its target. With
   disaggregation, each pool can have an autoscaler. Groups of ranks count as one instance,
   represented by their first instance. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/feature.h"
#include "cluster/instances/start.h"
#include "cluster/machines/machines.h"
#include "cluster/scaling/scaling.h"
#include "cluster/scaling/triggers.h"
#include "cluster/service.h"
#include "cluster/units.h"
#include "cluster/waiting_room.h"

/* State of one pool; state_of(cluster) is the first. */
struct blis__scaler {
  struct blis__scaler *next;
  blis_autoscaler policy;
  blis_scaling_config config;
  blis__scale_look look;
  blis__scale_trigger trigger;
  blis__scale_pool own; /* for policies that read the state of pools */
  blis__scale_pool other;
  int64_t next_us;    /* time of the next regular evaluation */
  blis_random random; /* random stream of actuation delays */
  uint32_t wanted;
  int64_t wish;      /* the policy's unconstrained target at its last evaluation */
  uint32_t like;     /* new instances are copies of this one */
  bool is_due;       /* the number of instances must be adjusted, see reconcile */
  int64_t scaled_us; /* time of the last change; -1 = never */
  int direction;     /* direction of the last change: 1 or -1 */
  blis_scaling_report report;
  BLIS_ARRAY(blis_scale_event) events;
  BLIS_ARRAY(blis_scale_level) levels;
};

static struct blis__scaler *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_SCALING);
}

/* Counting. */

/*
 * Returns whether an instance counts toward the target: it is starting, serving, or will recover.
 */
static bool is_replica(const blis_cluster *cluster, uint32_t i) {
  blis_service service = cluster->services[i];
  return service == BLIS_SERVICE_ACTIVE || blis__is_starting(service) ||
         service == BLIS_SERVICE_RECOVERING ||
         (service == BLIS_SERVICE_FAILED && blis_cluster_instance_will_recover(cluster, i));
}

static bool is_own(const struct blis__scaler *scaler, const blis_cluster *cluster, uint32_t i) {
  return blis__is_scaled_group(cluster, scaler->config.role, i);
}

static uint32_t count_of_role(const blis_cluster *cluster, blis_scale_role role) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    count += blis__is_scaled_group(cluster, role, i) && is_replica(cluster, i);
  }
  return count;
}

static uint32_t count_replicas(const struct blis__scaler *scaler, const blis_cluster *cluster) {
  return count_of_role(cluster, scaler->config.role);
}

static blis_status note_level(struct blis__scaler *scaler, const blis_cluster *cluster) {
  blis_scale_level level = {.time_us = cluster->now_us, .wanted = scaler->wanted};
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (is_own(scaler, cluster, i)) {
      level.ready += cluster->services[i] == BLIS_SERVICE_ACTIVE;
      level.paid += blis_cluster_instance_is_paid(cluster, i);
    }
  }
  size_t count = scaler->levels.count;
  if (count > 0 && scaler->levels.items[count - 1].time_us == level.time_us) {
    scaler->levels.items[count - 1] = level;
    return BLIS_OK;
  }
  return blis_array_push(&cluster->alloc, &scaler->levels, level);
}

/* Reconciliation. */

static double price_of(const blis_cluster *cluster, uint32_t i) {
  double sum = 0;
  for (uint32_t k = i; k < blis__unit_end(cluster, i); k++) {
    sum += blis__machine_of(cluster, k).cost_per_hour;
  }
  return sum;
}

static bool is_dearer(const blis_cluster *cluster, uint32_t i, uint32_t other) {
  return price_of(cluster, i) > price_of(cluster, other);
}

static double load_of(const blis_cluster *cluster, uint32_t i) {
  double sum = 0;
  for (uint32_t k = i; k < blis__unit_end(cluster, i); k++) {
    sum += blis__snapshot_live(&cluster->snapshot, k, BLIS_SIGNAL_IN_FLIGHT);
  }
  return sum;
}

/* Returns whether an instance is removed before another. Instances that have not started are first,
   then more expensive ones. Later instances are newer. */
static bool goes_before(const struct blis__scaler *scaler, const blis_cluster *cluster, uint32_t i,
                        uint32_t other) {
  bool serves = cluster->services[i] == BLIS_SERVICE_ACTIVE;
  bool other_serves = cluster->services[other] == BLIS_SERVICE_ACTIVE;
  if (serves != other_serves) {
    return other_serves;
  }
  if (is_dearer(cluster, i, other) || is_dearer(cluster, other, i)) {
    return is_dearer(cluster, i, other);
  }
  switch (scaler->config.victim) {
  case BLIS_VICTIM_OLDEST:
    return serves ? i < other : i > other;
  case BLIS_VICTIM_LEAST_LOADED: {
    double load = load_of(cluster, i);
    double other_load = load_of(cluster, other);
    return load < other_load || (load == other_load && i > other);
  }
  default:
    return i > other;
  }
}

static uint32_t choose_victim(const struct blis__scaler *scaler, const blis_cluster *cluster) {
  uint32_t chosen = UINT32_MAX;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (!is_own(scaler, cluster, i) || !is_replica(cluster, i)) {
      continue;
    }
    if (chosen == UINT32_MAX || goes_before(scaler, cluster, i, chosen)) {
      chosen = i;
    }
  }
  BLIS_ASSERT(chosen != UINT32_MAX);
  return chosen;
}

static blis_status remove_one(struct blis__scaler *scaler, blis_cluster *cluster,
                              blis_error *error) {
  uint32_t chosen = choose_victim(scaler, cluster);
  blis_service service = cluster->services[chosen];
  if (service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_RECOVERING) {
    return blis_cluster_instance_give_up(cluster, chosen, error);
  }
  return blis_cluster_instance_stop(cluster, chosen, scaler->config.stop, scaler->config.grace_us,
                                    error);
}

static blis_status reconcile(struct blis__scaler *scaler, blis_cluster *cluster,
                             blis_error *error) {
  uint32_t wanted = scaler->wanted;
  uint32_t count = count_replicas(scaler, cluster);
  for (; count < wanted; count++) {
    uint32_t index;
    BLIS_TRY(blis_cluster_instance_start(cluster, scaler->like, &scaler->config.cold_start,
                                         scaler->config.seed, &index, error));
    scaler->report.started++;
  }
  for (; count > wanted; count--) {
    BLIS_TRY(remove_one(scaler, cluster, error));
  }
  /* Instances that failed immediately are replaced next. */
  BLIS_ASSERT(scaler->is_due || count_replicas(scaler, cluster) == wanted);
  BLIS_TRY_MEM(note_level(scaler, cluster), error);
  return BLIS_OK;
}

static blis_status act(void *ud, blis_cluster *cluster, blis_error *error) {
  return blis_cluster_has_requests(cluster) ? reconcile(ud, cluster, error) : BLIS_OK;
}

/* Replaces instances that were removed for another reason, at the end of the event. */
static blis_status replace(void *ud, blis_cluster *cluster, blis_error *error) {
  struct blis__scaler *scaler = ud;
  scaler->is_due = false;
  return act(ud, cluster, error);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  struct blis__scaler *scaler = ud;
  blis_service service = cluster->services[news->instance];
  bool is_gone = service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_DRAINING;
  if (!is_own(scaler, cluster, news->instance)) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(note_level(scaler, cluster), error);
  if (!is_gone || scaler->is_due || count_replicas(scaler, cluster) == scaler->wanted) {
    return BLIS_OK;
  }
  scaler->is_due = true;
  return blis_cluster_call_at(cluster, cluster->now_us, replace, scaler, error);
}

/* Evaluation. */

static blis_status note_decision(struct blis__scaler *scaler, blis_cluster *cluster,
                                 const blis_scale_decision *decision, blis_scale_cause cause,
                                 int64_t proposed) {
  const blis_scaling_config *config = &scaler->config;
  blis_scaling_report *report = &scaler->report;
  int64_t change = decision->target - (int64_t)scaler->wanted;
  blis_scale_event event = {.time_us = cluster->now_us,
                            .from = scaler->wanted,
                            .to = (uint32_t)decision->target,
                            .proposed = proposed,
                            .cause = cause};
  report->clamped += proposed != decision->target;
  size_t count = scaler->events.count;
  if (change == 0 && (proposed == decision->target ||
                      (count > 0 && scaler->events.items[count - 1].proposed == proposed &&
                       scaler->events.items[count - 1].to == event.to))) {
    return BLIS_OK; /* no change */
  }
  if (change != 0) {
    int direction = change > 0 ? 1 : -1;
    event.is_oscillation = direction == -scaler->direction &&
                           cluster->now_us - scaler->scaled_us <= config->oscillation_us;
    report->oscillations += event.is_oscillation;
    report->scale_ups += change > 0;
    report->scale_downs += change < 0;
    scaler->direction = direction;
    scaler->scaled_us = cluster->now_us;
  }
  event.reason = blis_arena_text(&cluster->texts, decision->reason, strlen(decision->reason));
  return event.reason == NULL ? BLIS_ERR_NOMEM
                              : blis_array_push(&cluster->alloc, &scaler->events, event);
}

static void count_others(const struct blis__scaler *scaler, const blis_cluster *cluster,
                         blis_scale_context *context) {
  for (uint32_t i = 0; i < cluster->existing; i++) {
    blis_service service = cluster->services[i];
    if (is_own(scaler, cluster, i)) {
      context->starting += blis__is_starting(service);
      context->draining += service == BLIS_SERVICE_DRAINING;
    }
  }
}

/* Returns the mean startup time, if nodes have capacity. */
static double startup_us(const blis_scaling_config *config) {
  const blis_cold_start *start = &config->cold_start;
  double warming_us = start->warming_factor > 0 ? 0 : start->warming.mean_us;
  return config->actuation.mean_us + start->request.mean_us + start->provisioning.mean_us +
         start->loading.mean_us + warming_us;
}

static void show_numbers(const struct blis__scaler *scaler, blis_scale_pool *seen) {
  seen->replicas = scaler->wanted;
  seen->wish = scaler->wish;
  seen->min = scaler->config.min;
  seen->max = scaler->config.max;
}

/* Describes the other pool. A pool without an autoscaler has a constant number of instances. */
static void show_other(const blis_cluster *cluster, blis_scale_role role, blis_scale_pool *seen) {
  const struct blis__scaler *s = state_of(cluster);
  while (s != NULL && s->config.role != role) {
    s = s->next;
  }
  if (s != NULL) {
    show_numbers(s, seen);
    return;
  }
  seen->replicas = seen->min = seen->max = count_of_role(cluster, role);
  seen->wish = seen->replicas;
}

static void look_at_pools(struct blis__scaler *scaler, const blis_cluster *cluster,
                          blis_scale_context *context) {
  blis_scale_role role = scaler->config.role;
  blis_scale_role other = role == BLIS_SCALE_PREFILL ? BLIS_SCALE_DECODE : BLIS_SCALE_PREFILL;
  if (blis__scale_pool_look(&scaler->own, cluster, role)) {
    show_numbers(scaler, &scaler->own.seen);
    context->own = &scaler->own.seen;
  }
  if (role != BLIS_SCALE_BOTH && blis__scale_pool_look(&scaler->other, cluster, other)) {
    show_other(cluster, other, &scaler->other.seen);
    context->other = &scaler->other.seen;
  }
}

static blis_status decide(struct blis__scaler *scaler, blis_cluster *cluster,
                          blis_scale_cause cause, blis_error *error) {
  const blis_scaling_config *config = &scaler->config;
  int64_t now_us = cluster->now_us;
  blis_scale_context context = {.now_us = now_us,
                                .cause = cause,
                                .role = config->role,
                                .since_last_scale_us = scaler->scaled_us < 0
                                                           ? BLIS_TIME_NEVER_US
                                                           : now_us - scaler->scaled_us,
                                .replicas = scaler->wanted,
                                .min = config->min,
                                .max = config->max,
                                .startup_us = startup_us(config),
                                .future = config->future};
  blis__scale_look_take(&scaler->look, cluster, &context);
  context.ready = (uint32_t)context.instance_count;
  count_others(scaler, cluster, &context);
  if ((scaler->look.needs & BLIS_SCALE_NEEDS_POOLS) != 0) {
    look_at_pools(scaler, cluster, &context);
  }
  blis_scale_decision decision;
  int64_t proposed;
  BLIS_TRY(blis_autoscaler_decide(&scaler->policy, &context, &decision, &proposed, error));
  BLIS_ASSERT(decision.target >= config->min && decision.target <= config->max);
  const blis__scale_decided decided = {&context, &decision, proposed};
  BLIS_TRY(BLIS__TELL(cluster, BLIS__SCALE_DECIDED, error, .decided = &decided));
  bool changes = decision.target != scaler->wanted;
  BLIS_TRY_MEM(note_decision(scaler, cluster, &decision, cause, proposed), error);
  scaler->wanted = (uint32_t)decision.target;
  scaler->wish = decision.wish;
  if (decision.off != NULL) {
    scaler->report.off = decision.off;
  }
  scaler->report.checks++;
  cluster->looks++;
  scaler->report.triggered += cause != BLIS_SCALE_BY_INTERVAL;
  if (!changes) {
    return BLIS_OK;
  }
  if (decision.like >= 0) {
    scaler->like = (uint32_t)decision.like;
  }
  int64_t delay_us = blis_delay_draw(&config->actuation, &scaler->random);
  return delay_us == 0 ? reconcile(scaler, cluster, error)
                       : blis_cluster_call_at(cluster, blis_time_after_us(now_us, delay_us), act,
                                              scaler, error);
}

static blis_status check_one(struct blis__scaler *scaler, blis_cluster *cluster,
                             blis_error *error) {
  int64_t now_us = cluster->now_us;
  blis_scale_cause cause = blis__scale_trigger_of(&scaler->trigger, cluster);
  bool is_due = now_us == scaler->next_us;
  if (is_due) {
    cause = BLIS_SCALE_BY_INTERVAL;
    scaler->next_us = blis_time_after_us(now_us, scaler->policy.interval_us);
  }
  if (!is_due && cause == BLIS_SCALE_BY_INTERVAL) {
    return BLIS_OK; /* there was no cause */
  }
  blis__scale_trigger_note_look(&scaler->trigger, cluster);
  BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
  return decide(scaler, cluster, cause, error);
}

static void set_check(blis_cluster *cluster) {
  cluster->hooks.last_turn_us = BLIS_TIME_NEVER_US;
  for (const struct blis__scaler *s = state_of(cluster); s != NULL; s = s->next) {
    cluster->hooks.last_turn_us =
        s->next_us < cluster->hooks.last_turn_us ? s->next_us : cluster->hooks.last_turn_us;
  }
}

static blis_status check(blis_cluster *cluster, blis_error *error) {
  if (!blis_cluster_has_requests(cluster)) {
    cluster->hooks.last_turn_us = BLIS_TIME_NEVER_US;
    return BLIS_OK;
  }
  cluster->hooks.last_turn_us = BLIS_TIME_NEVER_US; /* triggers may set it again */
  for (struct blis__scaler *s = state_of(cluster); s != NULL; s = s->next) {
    BLIS_TRY(check_one(s, cluster, error));
  }
  int64_t triggered_us = cluster->hooks.last_turn_us;
  set_check(cluster);
  cluster->hooks.last_turn_us =
      triggered_us < cluster->hooks.last_turn_us ? triggered_us : cluster->hooks.last_turn_us;
  return BLIS_OK;
}

/* Construction. */

static blis_status check_bounds(const blis_scaling_config *config, blis_error *error) {
  bool may_be_empty = config->role == BLIS_SCALE_BOTH;
  if (config->max >= 1 && config->min <= config->max && (may_be_empty || config->min >= 1)) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "autoscaler: %" PRIu32 " to %" PRIu32 " replicas are not bounds%s", config->min,
                   config->max, may_be_empty ? "" : " of a pool, which keeps one at least");
}

static const char *pool_name(blis_scale_role role) {
  static const char *const names[] = {"instances", "prefill instances", "decode instances"};
  return names[role];
}

static blis_status check_config(const blis_cluster *cluster, const blis_scaling_config *config,
                                blis_error *error) {
  uint32_t count = 0;
  BLIS_TRY(check_bounds(config, error));
  for (uint32_t i = 0; i < cluster->existing; i++) {
    count += blis__is_scaled_group(cluster, config->role, i);
    if (config->role == BLIS_SCALE_BOTH && cluster->facts[i].roles != 0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "autoscaler: %s has a role; the pools of prefill and "
                       "decode are scaled each on its own",
                       cluster->ids[i]);
    }
  }
  if (count < config->min || count > config->max || count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "autoscaler: there are %" PRIu32 " %s at first, expected %" PRIu32
                     " to %" PRIu32 " (min_replicas to max_replicas)",
                     count, pool_name(config->role), config->min, config->max);
  }
  return BLIS_OK;
}

/* Returns the cheapest instance. */
static uint32_t cheapest(const struct blis__scaler *scaler, const blis_cluster *cluster) {
  uint32_t chosen = UINT32_MAX;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (is_own(scaler, cluster, i) && (chosen == UINT32_MAX || is_dearer(cluster, chosen, i))) {
      chosen = i;
    }
  }
  return chosen;
}

static blis_status add_scaler(struct blis__scaler *scaler, blis_cluster *cluster) {
  bool is_traced = blis__listeners_hear(&cluster->listeners, BLIS__SCALE_DECIDED);
  BLIS_TRY(blis__scale_look_init(&scaler->look, cluster, &scaler->config,
                                 is_traced ? BLIS_SCALE_NEEDS_ALL : scaler->policy.needs));
  if (cluster->waiting_room == NULL) {
    BLIS_TRY(blis__add_waiting_room(cluster));
  }
  static const uint32_t roles[] = {0, BLIS_ROLE_PREFILL, BLIS_ROLE_DECODE};
  cluster->waiting_room->keeps_any |= scaler->config.role == BLIS_SCALE_BOTH;
  cluster->waiting_room->kept_roles |= roles[scaler->config.role];
  cluster->may_bring_instances |= scaler->config.min < scaler->config.max;
  BLIS_TRY(blis__scale_trigger_init(&scaler->trigger, cluster, &scaler->config));
  const blis__listener listener = {
      .ud = scaler, .phase = BLIS__BOOKS, .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY(blis__listeners_add(&cluster->listeners, &listener));
  return note_level(scaler, cluster);
}

static blis_status load_first_ones(const struct blis__scaler *scaler, blis_cluster *cluster,
                                   blis_error *error) {
  const blis_scaling_config *config = &scaler->config;
  for (uint32_t i = 0; i < cluster->existing && config->initial_ones_load; i++) {
    if (is_own(scaler, cluster, i)) {
      const blis__start start = blis__draw_start(&config->cold_start, i, config->seed);
      BLIS_TRY(blis__begin_loading(cluster, i, &start, error));
    }
  }
  return BLIS_OK;
}

/* Appends the scaler to the list. */
static void append(blis_cluster *cluster, struct blis__scaler *scaler) {
  struct blis__scaler *last = state_of(cluster);
  if (last == NULL) {
    cluster->features[BLIS_FEATURE_SCALING] = scaler;
    return;
  }
  for (; last->next != NULL; last = last->next) {
    BLIS_ASSERT(last->config.role != scaler->config.role);
  }
  BLIS_ASSERT(last->config.role != scaler->config.role);
  last->next = scaler;
}

blis_status blis_cluster_set_autoscaler(blis_cluster *cluster, blis_autoscaler *autoscaler,
                                        const blis_scaling_config *config, blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0);
  struct blis__scaler *scaler = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *scaler);
  if (scaler == NULL) {
    blis_autoscaler_free(autoscaler);
    return blis_fail_nomem(error);
  }
  scaler->policy = *autoscaler;
  *autoscaler = (blis_autoscaler){0};
  scaler->config = *config;
  scaler->scaled_us = -1;
  static const char *const streams[] = {"autoscaler", "autoscaler of prefill",
                                        "autoscaler of decode"};
  blis_random_init_named(&scaler->random, config->seed, streams[config->role]);
  append(cluster, scaler);
  cluster->number_keeper = "the autoscaler";
  cluster->hooks.last_turn = check;
  cluster->hooks.last_turn_kind = "scaling";
  BLIS_TRY(check_config(cluster, config, error));
  scaler->wanted = count_replicas(scaler, cluster);
  scaler->wish = scaler->wanted;
  scaler->like = cheapest(scaler, cluster);
  BLIS_TRY_MEM(add_scaler(scaler, cluster), error);
  BLIS_TRY(load_first_ones(scaler, cluster, error));
  scaler->next_us = scaler->policy.interval_us;
  set_check(cluster);
  return BLIS_OK;
}

static void free_scalers(blis_cluster *cluster) {
  struct blis__scaler *next;
  for (struct blis__scaler *s = state_of(cluster); s != NULL; s = next) {
    next = s->next;
    blis_autoscaler_free(&s->policy);
    blis__scale_look_deinit(&s->look, cluster);
    blis__scale_trigger_deinit(&s->trigger, cluster);
    blis_array_deinit(&cluster->alloc, &s->events);
    blis_array_deinit(&cluster->alloc, &s->levels);
    blis_alloc_free(&cluster->alloc, s, sizeof *s);
  }
}

/* Returns the end of the billed time. If the arrival of a request was moved earlier, scaling still
   continues until its original arrival time. */
static int64_t paid_until_us(const blis_cluster *cluster) {
  int64_t until_us = cluster->last_end_us;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    until_us = blis_max_i64(until_us, cluster->service_times[i].since_us);
  }
  return until_us;
}

bool blis_cluster_get_scaling(const blis_cluster *cluster, size_t pool,
                              blis_scaling_report *report) {
  const struct blis__scaler *scaler = state_of(cluster);
  while (scaler != NULL && pool-- > 0) {
    scaler = scaler->next;
  }
  if (scaler == NULL) {
    return false;
  }
  const blis__waiting_room *room = cluster->waiting_room;
  *report = scaler->report;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    report->failed_starts +=
        is_own(scaler, cluster, i) ? blis_cluster_instance_failed_starts(cluster, i) : 0;
  }
  report->role = scaler->config.role;
  report->events = scaler->events.items;
  report->event_count = scaler->events.count;
  report->levels = scaler->levels.items;
  report->level_count = scaler->levels.count;
  report->end_us = paid_until_us(cluster);
  report->waited = room->waited;
  report->waited_us = room->waited_us;
  report->longest_us = room->longest_us;
  report->most_waiting = room->most_waiting;
  return true;
}

const blis__feature blis__scaling_feature = {
    .slot = BLIS_FEATURE_SCALING,
    .name = "scaling",
    .free = free_scalers,
};
