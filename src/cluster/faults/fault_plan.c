#include "cluster/faults/fault_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/faults/presence.h"
#include "cluster/feature.h"
#include "cluster/service.h"
#include "cluster/units.h"
#include "cluster/waiting_room.h"

/* An active fault on an instance. */
typedef struct active_fault {
  struct blis__fault_plan *plan;
  uint32_t instance;
  blis_fault_effect effect;
  bool is_on;
  size_t note; /* index of its note */
} active_fault;

/* A fault that repeats. */
typedef struct random_fault {
  blis_random_fault fault;
  blis_random random;
} random_fault;

struct blis__fault_plan {
  blis_fault *faults;
  size_t count;
  size_t next;
  BLIS_ARRAY(active_fault *) active; /* active faults; in the arena */
  /* Indexed by instance: factor of permanent slowdowns; 0 means 1. */
  double *lasting;
  BLIS_ARRAY(blis_fault_note) notes;
};

static struct blis__fault_plan *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_FAULTS);
}

/* Limit on the memory of notes, far above any useful number. */
enum { NOTES_MAX = 100000 };

/* Active faults. */

static blis_status set_speed(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  const struct blis__fault_plan *plan = state_of(cluster);
  double lasting = plan->lasting[instance];
  double factor = lasting == 0 ? 1 : lasting;
  for (size_t i = 0; i < plan->active.count; i++) {
    const active_fault *a = plan->active.items[i];
    if (a->is_on && a->instance == instance) {
      factor *= a->effect.kind == BLIS_FAULT_SLOW ? a->effect.factor : 1;
    }
  }
  factor = fmin(fmax(factor, 1e-3), 1e6);
  return blis_cluster_instance_slow(cluster, instance, factor, error);
}

/* Returns whether routers see stale signals because of this fault. */
static bool hides_signals(const active_fault *a, uint32_t instance) {
  blis_fault_kind kind = a->effect.kind;
  return a->is_on && a->instance == instance &&
         (kind == BLIS_FAULT_PARTITION || kind == BLIS_FAULT_HANG || kind == BLIS_FAULT_STALE);
}

static void set_signals(blis_cluster *cluster, uint32_t instance) {
  const struct blis__fault_plan *plan = state_of(cluster);
  bool is_apart = false;
  for (size_t i = 0; i < plan->active.count; i++) {
    is_apart |= hides_signals(plan->active.items[i], instance);
  }
  blis__snapshot_set_apart(&cluster->snapshot, instance, is_apart);
}

/* Stale signals are refreshed at intervals, unless another fault hides them. */
static blis_status on_look(void *ud, blis_cluster *cluster, blis_error *error) {
  active_fault *a = ud;
  const struct blis__fault_plan *plan = a->plan;
  if (!a->is_on || !blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  bool is_hidden = false;
  for (size_t i = 0; i < plan->active.count; i++) {
    const active_fault *other = plan->active.items[i];
    is_hidden |= hides_signals(other, a->instance) && other->effect.kind != BLIS_FAULT_STALE;
  }
  if (!is_hidden) {
    blis__snapshot_set_apart(&cluster->snapshot, a->instance, false);
    blis__snapshot_set_apart(&cluster->snapshot, a->instance, true);
  }
  return blis_cluster_call_at(cluster, blis_time_after_us(cluster->now_us, a->effect.period_us),
                              on_look, a, error);
}

/* Removes ended faults, so that the cost stays proportional to the active ones. */
static void forget_over(struct blis__fault_plan *plan) {
  size_t kept = 0;
  for (size_t i = 0; i < plan->active.count; i++) {
    if (plan->active.items[i]->is_on) {
      plan->active.items[kept++] = plan->active.items[i];
    }
  }
  plan->active.count = kept;
}

/* A restarted engine has lost all earlier state. */
static void end_all_at(struct blis__fault_plan *plan, uint32_t instance) {
  plan->lasting[instance] = 0;
  for (size_t i = 0; i < plan->active.count; i++) {
    active_fault *a = plan->active.items[i];
    bool is_outside = a->effect.kind == BLIS_FAULT_PARTITION || a->effect.kind == BLIS_FAULT_STALE;
    if (a->instance == instance && !is_outside) {
      a->is_on = false;
    }
  }
  forget_over(plan);
}

static blis_status crash(blis_cluster *cluster, uint32_t instance, const blis_fault_effect *effect,
                         int64_t recover_us, blis_error *error) {
  blis__set_will_recover(cluster, instance, false); /* as a reclaim said */
  BLIS_TRY(blis_cluster_instance_fail(cluster, instance, effect->loss, error));
  uint32_t end = blis__unit_end(cluster, instance);
  for (uint32_t i = blis__unit_first(cluster, instance); i < end; i++) {
    end_all_at(state_of(cluster), i);
    BLIS_TRY(set_speed(cluster, i, error));
    set_signals(cluster, i);
  }
  if (recover_us == BLIS_TIME_NEVER_US) {
    return BLIS_OK;
  }
  return blis_cluster_instance_recover(cluster, instance, recover_us, effect->recovering_us, error);
}

/* Returns the machine of an instance that is up. */
static blis_status take_away(blis_cluster *cluster, uint32_t instance,
                             const blis_fault_effect *effect, blis_error *error) {
  uint32_t end = blis__unit_end(cluster, instance);
  for (uint32_t i = blis__unit_first(cluster, instance); i < end; i++) {
    cluster->service_times[i].is_given_back = effect->gives_back;
  }
  return crash(cluster, instance, effect, effect->recover_us, error);
}

/* Executes the events of a rank up to this microsecond before it is removed, so that a request
   that ends now has ended. */
static blis_status finish_now(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  uint32_t end = blis__unit_end(cluster, instance);
  for (uint32_t i = blis__unit_first(cluster, instance); i < end; i++) {
    BLIS_TRY(blis__cluster_bring_up_to_now(cluster, i, error));
  }
  return BLIS_OK;
}

/* Ends a reclaim, whether or not the instance is in use. */
static blis_status end_reclaim(blis_cluster *cluster, active_fault *a, blis_error *error) {
  const blis_fault_effect *effect = &a->effect;
  BLIS_TRY(finish_now(cluster, a->instance, error));
  if (blis__is_up(cluster->services[a->instance])) {
    return take_away(cluster, a->instance, effect, error);
  }
  return effect->recover_us == BLIS_TIME_NEVER_US
             ? BLIS_OK
             : blis_cluster_instance_recover(cluster, a->instance, effect->recover_us,
                                             effect->recovering_us, error);
}

static blis_status end(blis_cluster *cluster, active_fault *a, blis_error *error) {
  switch (a->effect.kind) {
  case BLIS_FAULT_HANG: /* the hang is detected, and the engine is restarted */
    return blis__is_up(cluster->services[a->instance])
               ? crash(cluster, a->instance, &a->effect, a->effect.recovering_us, error)
               : BLIS_OK;
  case BLIS_FAULT_PARTITION:
  case BLIS_FAULT_STALE:
    set_signals(cluster, a->instance);
    return BLIS_OK;
  case BLIS_FAULT_RECLAIM:
    return end_reclaim(cluster, a, error);
  default:
    return set_speed(cluster, a->instance, error);
  }
}

/* Called at the end of a fault. Its effects on requests count as effects of the fault. */
static blis_status on_over(void *ud, blis_cluster *cluster, blis_error *error) {
  active_fault *a = ud;
  if (!a->is_on || !blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  blis_cluster_counts before = cluster->counts;
  a->is_on = false;
  forget_over(a->plan);
  BLIS_TRY(end(cluster, a, error));
  blis_fault_note *note = &a->plan->notes.items[a->note];
  note->lost += cluster->counts.failed - before.failed;
  note->rerouted += cluster->counts.rerouted - before.rerouted;
  note->retried += cluster->counts.retried - before.retried;
  note->recomputed_tokens += cluster->counts.recomputed_tokens - before.recomputed_tokens;
  return BLIS_OK;
}

/* Activates a fault that ends after after_us. */
static blis_status begin(blis_cluster *cluster, uint32_t instance, const blis_fault_effect *effect,
                         int64_t after_us, active_fault **made, blis_error *error) {
  struct blis__fault_plan *plan = state_of(cluster);
  active_fault *a = blis_arena_new(&cluster->texts, sizeof *a);
  BLIS_TRY_NEW(a, error);
  *a = (active_fault){plan, instance, *effect, true, plan->notes.count};
  *made = a;
  BLIS_TRY_MEM(blis_array_push(&cluster->alloc, &plan->active, a), error);
  int64_t end_us = blis_time_after_us(cluster->now_us, after_us);
  return end_us == BLIS_TIME_NEVER_US ? BLIS_OK
                                      : blis_cluster_call_at(cluster, end_us, on_over, a, error);
}

static blis_status hang_one(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  BLIS_TRY(blis__cluster_bring_forward(cluster, instance, error));
  BLIS_TRY(blis_instance_hang(cluster->instances[instance], error));
  BLIS_TRY(BLIS__TELL(cluster, BLIS__HUNG, error, .instance = instance));
  blis__note_instance_change(cluster, instance);
  return BLIS_OK;
}

/* Makes an instance hang until its engine restarts. Other ranks wait for it at their barrier. */
static blis_status hang(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  const blis_rank_config *ranks = blis_instance_get_config(cluster->instances[instance])->ranks;
  if (ranks == NULL || !ranks->has_barrier) {
    return hang_one(cluster, instance, error);
  }
  uint32_t end = blis__unit_end(cluster, instance);
  for (uint32_t i = blis__unit_first(cluster, instance); i < end; i++) {
    BLIS_TRY(hang_one(cluster, i, error));
  }
  return BLIS_OK;
}

/* Effects. */

/* A slowdown without an end is stored only as the factor of its instance. */
static blis_status slow_down_for_good(blis_cluster *cluster, uint32_t instance, double factor,
                                      blis_error *error) {
  double *lasting = &state_of(cluster)->lasting[instance];
  *lasting = fmin(fmax((*lasting == 0 ? 1 : *lasting) * factor, 1e-3), 1e6);
  return set_speed(cluster, instance, error);
}

/* Returns whether the same fault is already permanently active. */
static bool is_on_for_good(const struct blis__fault_plan *plan, uint32_t instance,
                           const blis_fault_effect *effect) {
  for (size_t i = 0; i < plan->active.count; i++) {
    const active_fault *a = plan->active.items[i];
    if (a->instance == instance && a->effect.kind == effect->kind &&
        a->effect.recover_us == BLIS_TIME_NEVER_US && a->effect.period_us == effect->period_us) {
      return true;
    }
  }
  return false;
}

static blis_status begin_lasting(blis_cluster *cluster, uint32_t instance,
                                 const blis_fault_effect *effect, blis_error *error) {
  if (effect->kind == BLIS_FAULT_SLOW && effect->recover_us == BLIS_TIME_NEVER_US) {
    return slow_down_for_good(cluster, instance, effect->factor, error);
  }
  if (is_on_for_good(state_of(cluster), instance, effect)) {
    return effect->kind == BLIS_FAULT_HANG ? hang(cluster, instance, error) : BLIS_OK;
  }
  active_fault *a;
  BLIS_TRY(begin(cluster, instance, effect, effect->recover_us, &a, error));
  set_signals(cluster, instance);
  switch (effect->kind) {
  case BLIS_FAULT_HANG:
    return hang(cluster, instance, error);
  case BLIS_FAULT_PARTITION:
    return BLIS_OK;
  case BLIS_FAULT_STALE:
    return blis_cluster_call_at(cluster, blis_time_after_us(cluster->now_us, effect->period_us),
                                on_look, a, error);
  default:
    return set_speed(cluster, instance, error);
  }
}

static blis_status reclaim(blis_cluster *cluster, uint32_t instance,
                           const blis_fault_effect *effect, blis_error *error) {
  active_fault *a;
  BLIS_TRY(begin(cluster, instance, effect, effect->notice_us, &a, error));
  blis__set_will_recover(cluster, instance, effect->recover_us != BLIS_TIME_NEVER_US);
  return blis_cluster_instance_drain(cluster, instance, effect->loss.kind == BLIS_LOSS_REROUTED,
                                     error);
}

static blis_status strike(blis_cluster *cluster, uint32_t instance, const blis_fault_effect *effect,
                          blis_error *error) {
  switch (effect->kind) {
  case BLIS_FAULT_CRASH:
    return crash(cluster, instance, effect, effect->recover_us, error);
  case BLIS_FAULT_RECLAIM:
    return reclaim(cluster, instance, effect, error);
  case BLIS_FAULT_LOST_CACHE:
    return blis_cluster_instance_lose_cache(cluster, instance, error);
  default:
    return begin_lasting(cluster, instance, effect, error);
  }
}

static blis_status suffer(blis_cluster *cluster, uint32_t instance, const blis_fault_effect *effect,
                          blis_error *error) {
  struct blis__fault_plan *plan = state_of(cluster);
  blis_cluster_counts before = cluster->counts;
  if (plan->notes.count == NOTES_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "faults: there were %d by %" PRId64
                     " us, and more are not kept; fewer times, or a longer "
                     "mtbf, leave room",
                     NOTES_MAX, cluster->now_us);
  }
  bool is_there = instance < cluster->existing && blis__is_up(cluster->services[instance]);
  if (is_there) {
    BLIS_TRY(strike(cluster, instance, effect, error));
  }
  const blis_fault_note note = {.time_us = cluster->now_us,
                                .instance = instance,
                                .kind = effect->kind,
                                .is_missed = !is_there,
                                .recover_us = effect->recover_us,
                                .factor = effect->kind == BLIS_FAULT_SLOW ? effect->factor : 0,
                                .lost = cluster->counts.failed - before.failed,
                                .rerouted = cluster->counts.rerouted - before.rerouted,
                                .retried = cluster->counts.retried - before.retried,
                                .recomputed_tokens =
                                    cluster->counts.recomputed_tokens - before.recomputed_tokens};
  BLIS_TRY_MEM(blis_array_push(&cluster->alloc, &plan->notes, note), error);
  return BLIS_OK;
}

static blis_status schedule_next(blis_cluster *cluster, blis_error *error);

static blis_status on_declared(void *ud, blis_cluster *cluster, blis_error *error) {
  struct blis__fault_plan *plan = ud;
  if (!blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  const blis_fault *fault = &plan->faults[plan->next++];
  BLIS_TRY(suffer(cluster, fault->instance, &fault->effect, error));
  return schedule_next(cluster, error);
}

static blis_status schedule_next(blis_cluster *cluster, blis_error *error) {
  struct blis__fault_plan *plan = state_of(cluster);
  return plan->next == plan->count ? BLIS_OK
                                   : blis_cluster_call_at(cluster, plan->faults[plan->next].at_us,
                                                          on_declared, plan, error);
}

/* Random faults. The more instances there are, the sooner the next fault occurs. */

static bool may_suffer(const blis_cluster *cluster, const random_fault *f, uint32_t i) {
  return cluster->services[i] == BLIS_SERVICE_ACTIVE &&
         (f->fault.instance < 0 || f->fault.instance == i);
}

static uint32_t count_up(const blis_cluster *cluster, const random_fault *f) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    count += may_suffer(cluster, f, i);
  }
  return count;
}

static blis_status on_random(void *ud, blis_cluster *cluster, blis_error *error);

static blis_status schedule_random(blis_cluster *cluster, random_fault *f, blis_error *error) {
  double count = fmax(1, (double)count_up(cluster, f));
  double delay_us = blis_random_exp(&f->random) * f->fault.mtbf_us / count;
  int64_t at_us = blis_time_after_us(cluster->now_us,
                                     1 + (int64_t)fmin(delay_us, (double)BLIS_TIME_SPAN_MAX_US));
  return blis_cluster_call_at(cluster, at_us, on_random, f, error);
}

static blis_status on_random(void *ud, blis_cluster *cluster, blis_error *error) {
  random_fault *f = ud;
  if (!blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  uint32_t count = count_up(cluster, f);
  if (count > 0) {
    int32_t nth = blis_random_intn(&f->random, (int32_t)count);
    uint32_t i = 0;
    while (!may_suffer(cluster, f, i) || nth-- > 0) {
      i++;
    }
    BLIS_TRY(suffer(cluster, i, &f->fault.effect, error));
  }
  return schedule_random(cluster, f, error);
}

/* Construction. */

const char *blis_fault_kind_name(blis_fault_kind kind) {
  static const char *const names[] = {"crash",   "hang",  "slow",      "partition",
                                      "reclaim", "stale", "lost-cache"};
  return names[kind];
}

static blis_status check_effect(const blis_fault_effect *effect, size_t place, blis_error *error) {
  bool has_times = effect->recover_us >= 0 && effect->recovering_us >= 0 &&
                   effect->notice_us >= 0 && effect->loss.pause_us >= 0;
  bool has_factor =
      effect->kind != BLIS_FAULT_SLOW || (effect->factor >= 1e-3 && effect->factor <= 1e6);
  bool has_period = effect->kind != BLIS_FAULT_STALE || effect->period_us >= 1;
  if (!has_times || !has_factor || !has_period) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "fault %zu (%s): times are 0 or more, periods 1 or more, "
                     "factors 0.001 to 1000000",
                     place, blis_fault_kind_name(effect->kind));
  }
  return BLIS_OK;
}

static blis_status check_faults(const blis_cluster *cluster, const blis_fault *faults, size_t count,
                                int64_t first_us, bool are_sorted, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(check_effect(&faults[i].effect, i + 1, error));
    bool may_come = cluster->config.initial_count > 0 && !faults[i].is_absence;
    bool is_there = faults[i].instance < cluster->existing || may_come;
    bool is_later = i == 0 || !are_sorted || faults[i].at_us >= faults[i - 1].at_us;
    if (!is_there || faults[i].at_us < first_us || !is_later) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "fault %zu (%s): instance %" PRIu32 " at %" PRId64 " us; there are %" PRIu32
                       " instances, and faults come in order of time",
                       i + 1, blis_fault_kind_name(faults[i].effect.kind), faults[i].instance,
                       faults[i].at_us, cluster->existing);
    }
  }
  return BLIS_OK;
}

static blis_status check_random(const blis_cluster *cluster, const blis_random_fault *random,
                                size_t count, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    const blis_random_fault *f = &random[i];
    BLIS_TRY(check_effect(&f->effect, i + 1, error));
    if (!(f->mtbf_us > 0) || f->instance < -1 || f->instance >= cluster->config.instance_count) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "random fault %zu (%s): mtbf is %g us, instance %" PRId64
                       "; expected a time above 0, and an instance or -1",
                       i + 1, blis_fault_kind_name(f->effect.kind), f->mtbf_us, f->instance);
    }
  }
  return BLIS_OK;
}

static blis_status copy_declared(blis_cluster *cluster, const blis_fault *faults, size_t count,
                                 blis_error *error) {
  struct blis__fault_plan *plan = state_of(cluster);
  if (count > 0) {
    plan->faults = blis_arena_new(&cluster->texts, count * sizeof *faults);
    BLIS_TRY_NEW(plan->faults, error);
  }
  for (size_t i = 0; i < count; i++) {
    const blis_fault *fault = &faults[i];
    if (fault->is_absence) {
      BLIS_TRY(take_away(cluster, fault->instance, &fault->effect, error));
    } else {
      plan->faults[plan->count++] = *fault;
    }
  }
  return schedule_next(cluster, error);
}

/* Starts a random fault. Each has its own random stream. */
static blis_status begin_random(blis_cluster *cluster, const blis_random_fault *random,
                                size_t count, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    random_fault *f = blis_arena_new(&cluster->texts, sizeof *f);
    BLIS_TRY_NEW(f, error);
    *f = (random_fault){.fault = random[i]};
    char stream[32];
    snprintf(stream, sizeof stream, "faults %zu", i + 1);
    blis_random_init_named(&f->random, random[i].seed, stream);
    BLIS_TRY(schedule_random(cluster, f, error));
  }
  return BLIS_OK;
}

static blis_status make_plan(blis_cluster *cluster, blis_error *error) {
  struct blis__fault_plan *plan = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *plan);
  BLIS_TRY_NEW(plan, error);
  cluster->features[BLIS_FEATURE_FAULTS] = plan;
  uint32_t room = cluster->config.instance_count;
  plan->lasting = blis_arena_new(&cluster->texts, room * sizeof(double));
  BLIS_TRY_NEW(plan->lasting, error);
  memset(plan->lasting, 0, room * sizeof(double));
  return BLIS_OK;
}

blis_status blis_cluster_set_faults(blis_cluster *cluster, const blis_fault *faults, size_t count,
                                    const blis_random_fault *random, size_t random_count,
                                    blis_error *error) {
  BLIS_TRY(check_faults(cluster, faults, count, 0, true, error));
  BLIS_TRY(check_random(cluster, random, random_count, error));
  BLIS_TRY(make_plan(cluster, error));
  if (cluster->waiting_room == NULL) {
    BLIS_TRY_MEM(blis__add_waiting_room(cluster), error);
  }
  BLIS_TRY_MEM(blis__add_presence(cluster), error);
  BLIS_TRY(copy_declared(cluster, faults, count, error));
  return begin_random(cluster, random, random_count, error);
}

static blis_status on_added(void *ud, blis_cluster *cluster, blis_error *error) {
  const blis_fault *fault = ud;
  return blis_cluster_has_requests(cluster)
             ? suffer(cluster, fault->instance, &fault->effect, error)
             : BLIS_OK;
}

blis_status blis_cluster_add_faults(blis_cluster *cluster, const blis_fault *faults, size_t count,
                                    blis_error *error) {
  BLIS_TRY(check_faults(cluster, faults, count, cluster->now_us + 1, false, error));
  if (state_of(cluster) == NULL) {
    BLIS_TRY(make_plan(cluster, error));
  }
  for (size_t i = 0; i < count; i++) {
    blis_fault *fault = blis_arena_new(&cluster->texts, sizeof *fault);
    BLIS_TRY_NEW(fault, error);
    *fault = faults[i];
    BLIS_TRY(blis_cluster_call_at(cluster, fault->at_us, on_added, fault, error));
  }
  return BLIS_OK;
}

static void free_fault_plan(blis_cluster *cluster) {
  struct blis__fault_plan *plan = state_of(cluster);
  if (plan != NULL) {
    blis_array_deinit(&cluster->alloc, &plan->active);
    blis_array_deinit(&cluster->alloc, &plan->notes);
    blis_alloc_free(&cluster->alloc, plan, sizeof *plan);
  }
}

bool blis_cluster_get_faults(const blis_cluster *cluster, const blis_fault_note **notes,
                             size_t *count) {
  const struct blis__fault_plan *plan = state_of(cluster);
  if (plan == NULL) {
    return false;
  }
  *notes = plan->notes.items;
  *count = plan->notes.count;
  return true;
}

const blis__feature blis__faults_feature = {
    .slot = BLIS_FEATURE_FAULTS,
    .name = "faults",
    .free = free_fault_plan,
};
