#include "cluster/instances/life_cycle.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/core_listeners.h"
#include "cluster/instances/placement.h"
#include "cluster/instances/places.h"
#include "cluster/instances/start.h"
#include "cluster/service.h"
#include "cluster/units.h"

enum {
  PROVISIONING_PART = BLIS_SERVICE_PROVISIONING - BLIS_SERVICE_REQUESTED,
  LOADING_PART = BLIS_SERVICE_LOADING - BLIS_SERVICE_REQUESTED,
  WARMING_PART = BLIS_SERVICE_WARMING - BLIS_SERVICE_REQUESTED
};

/* The pending event of an instance and its group. */
typedef struct life {
  blis_cluster *cluster;
  uint32_t index; /* first instance of its group */
  blis__start start;
  int64_t due_us; /* due time of its start or recovery */
  int64_t recovering_us;
  int64_t grace_end_us;
  bool waits; /* it waits for a node */
  int64_t failed_starts;
} life;

struct blis__life_cycle {
  life *lives; /* one per instance slot */
};

static blis_status need_lives(blis_cluster *cluster) {
  if (cluster->life_cycle != NULL) {
    return BLIS_OK;
  }
  uint32_t count = cluster->config.instance_count;
  struct blis__life_cycle *made = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *made);
  life *lives = blis_alloc_zeroed(&cluster->alloc, count, sizeof *lives);
  if (made == NULL || lives == NULL) {
    blis_alloc_free(&cluster->alloc, made, sizeof *made);
    blis_alloc_free(&cluster->alloc, lives, count * sizeof *lives);
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < count; i++) {
    lives[i] = (life){.cluster = cluster, .index = i};
  }
  made->lives = lives;
  cluster->life_cycle = made;
  return BLIS_OK;
}

void blis__free_life_cycle(blis_cluster *cluster) {
  struct blis__life_cycle *cycle = cluster->life_cycle;
  if (cycle != NULL) {
    blis_alloc_free(&cluster->alloc, cycle->lives,
                    cluster->config.instance_count * sizeof *cycle->lives);
    blis_alloc_free(&cluster->alloc, cycle, sizeof *cycle);
  }
}

static life *life_of(const blis_cluster *cluster, uint32_t index) {
  return &cluster->life_cycle->lives[blis__unit_first(cluster, index)];
}

static void set_due(blis_cluster *cluster, life *l, int64_t after_us) {
  l->due_us = blis_time_after_us(cluster->now_us, after_us);
  blis__note_life_due(cluster, l->due_us);
}

/* Starting. */

static blis_status on_part_done(void *ud, blis_cluster *cluster, blis_error *error);

/* Enters a state. The instance may already be in this state after a failed start. */
static blis_status enter(blis_cluster *cluster, const life *l, blis_service service,
                         blis_error *error) {
  if (cluster->services[l->index] != service) {
    return blis__set_service(cluster, l->index, service, error);
  }
  for (uint32_t i = l->index; i < blis__unit_end(cluster, l->index); i++) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__STATE_ENTERED, error, .instance = i));
  }
  return BLIS_OK;
}

static blis_status wait_for(blis_cluster *cluster, life *l, int part, int64_t for_us,
                            blis_error *error) {
  BLIS_TRY(enter(cluster, l, (blis_service)(BLIS_SERVICE_REQUESTED + part), error));
  set_due(cluster, l, for_us);
  return blis__cluster_call_in(cluster, cluster->loaded_event_class, l->due_us, on_part_done, l,
                               error);
}

/* Ends the warm-up: steps are no longer slowed down. */
static blis_status on_warm(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)error;
  const life *l = ud;
  blis__slow_down_group(cluster, l->index, BLIS__SLOW_BY_WARMING, 1);
  return BLIS_OK;
}

/* Starts the warm-up of an instance that already serves. */
static blis_status warm_up(blis_cluster *cluster, life *l, int64_t for_us, blis_error *error) {
  blis__slow_down_group(cluster, l->index, BLIS__SLOW_BY_WARMING, l->start.warming_factor);
  return blis_cluster_call_at(cluster, blis_time_after_us(cluster->now_us, for_us), on_warm, l,
                              error);
}

/* Returns the first part, starting with this one, that takes time; BLIS__START_PARTS = none. */
static int next_part(const life *l, int part) {
  while (part < BLIS__START_PARTS && l->start.part_us[part] == 0) {
    part++;
  }
  return part;
}

static bool serves_slowly_in(const life *l, int part) {
  return part == WARMING_PART && l->start.warming_factor > 0;
}

static bool serves_in(const life *l, int part) {
  return part == BLIS__START_PARTS || serves_slowly_in(l, part);
}

static blis_status serve(blis_cluster *cluster, life *l, int part, blis_error *error) {
  if (serves_slowly_in(l, part)) {
    BLIS_TRY(warm_up(cluster, l, l->start.part_us[part], error));
  }
  BLIS_TRY(blis__set_service(cluster, l->index, BLIS_SERVICE_ACTIVE, error));
  blis__note_group_change(cluster, l->index);
  return BLIS_OK;
}

/* Handles a failed start, at the time when the instance would serve. */
static blis_status fail_to_start(blis_cluster *cluster, life *l, blis_error *error) {
  l->failed_starts++;
  l->start.failures--;
  for (uint32_t i = l->index; i < blis__unit_end(cluster, l->index); i++) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__START_FAILED, error, .instance = i));
  }
  return BLIS_OK;
}

/* Enters the next state that takes time. If there is none, the instance serves, or restarts after a
   failed start. */
static blis_status go_on(blis_cluster *cluster, life *l, int part, blis_error *error) {
  part = next_part(l, part);
  while (serves_in(l, part) && l->start.failures > 0) {
    BLIS_TRY(fail_to_start(cluster, l, error));
    if (l->start.failures == 0 && l->start.is_hopeless) {
      return blis__set_service(cluster, l->index, BLIS_SERVICE_FAILED, error);
    }
    part = next_part(l, PROVISIONING_PART);
  }
  return serves_in(l, part) ? serve(cluster, l, part, error)
                            : wait_for(cluster, l, part, l->start.part_us[part], error);
}

/* Places the instance on a node, or makes it wait for one. */
static blis_status find_place(blis_cluster *cluster, life *l, blis_error *error) {
  blis__placement placement;
  BLIS_TRY(blis__place_unit(cluster, l->index, &placement, error));
  l->waits = placement != BLIS__PLACED;
  switch (placement) {
  case BLIS__PENDING:
    return enter(cluster, l, BLIS_SERVICE_PENDING, error);
  case BLIS__NODE_ORDERED:
    return enter(cluster, l, BLIS_SERVICE_PROVISIONING, error);
  default:
    return go_on(cluster, l, 1, error);
  }
}

/* A draining or failed instance does not continue its start. */
static blis_status on_part_done(void *ud, blis_cluster *cluster, blis_error *error) {
  life *l = ud;
  blis_service service = cluster->services[l->index];
  bool is_idle = !blis_cluster_has_requests(cluster); /* the run has ended */
  if (!blis__is_starting(service) || l->due_us != cluster->now_us || l->waits || is_idle) {
    return BLIS_OK;
  }
  return service == BLIS_SERVICE_REQUESTED
             ? find_place(cluster, l, error)
             : go_on(cluster, l, (int)service - BLIS_SERVICE_REQUESTED + 1, error);
}

blis_status blis__start_pending(blis_cluster *cluster, blis_error *error) {
  for (uint32_t i = 0; cluster->life_cycle != NULL && i < cluster->existing; i++) {
    life *l = &cluster->life_cycle->lives[i];
    if (l->waits && blis__is_starting(cluster->services[i])) {
      BLIS_TRY(find_place(cluster, l, error));
    }
  }
  return BLIS_OK;
}

/* Creates the next instances as copies of a group. */
static blis_status make_group(blis_cluster *cluster, uint32_t like, blis_error *error) {
  uint32_t first = cluster->existing;
  uint32_t other = blis__unit_first(cluster, like);
  uint32_t size = blis__unit_size(cluster, like);
  blis__units_join(cluster, first, other);
  BLIS_TRY(BLIS__TELL(cluster, BLIS__UNIT_PLANNED, error, .instance = first, .destination = other));
  for (uint32_t k = 0; k < size; k++) {
    BLIS_TRY(blis__make_instance(cluster, first + k, other + k, error));
    cluster->facts[first + k] = cluster->facts[other + k];
    cluster->service_times[first + k].since_us = cluster->now_us;
    cluster->existing++;
  }
  BLIS_TRY(BLIS__TELL(cluster, BLIS__UNIT_MADE, error, .instance = first));
  for (uint32_t k = 0; k < size; k++) {
    BLIS_TRY_MEM(blis__snapshot_add(&cluster->snapshot, first + k), error);
  }
  return BLIS_OK;
}

blis_status blis__start_next(blis_cluster *cluster, uint32_t like, const blis__start *start,
                             uint32_t *index, blis_error *error) {
  uint32_t room = cluster->config.instance_count;
  if (room - cluster->existing < blis__unit_size(cluster, like)) {
    const char *option = cluster->config.room_option;
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%" PRIu32 " instances have been started by %" PRId64
                     " us, and no more starts are possible%s%s%s",
                     cluster->existing, cluster->now_us, option == NULL ? "" : ": ",
                     option == NULL ? "" : option,
                     option == NULL ? ""
                                    : " allows more, at 3 KB each, if so many starts are meant");
  }
  BLIS_TRY_MEM(need_lives(cluster), error);
  *index = cluster->existing;
  BLIS_TRY(make_group(cluster, like, error));
  life *l = &cluster->life_cycle->lives[*index];
  l->start = *start;
  return start->part_us[0] > 0 ? wait_for(cluster, l, 0, start->part_us[0], error)
                               : find_place(cluster, l, error);
}

static void draw_failures(blis__start *start, const blis_cold_start *cold_start,
                          blis_random *random) {
  while (cold_start->failure > 0 && !start->is_hopeless &&
         blis_random_float64(random) < cold_start->failure) {
    start->failures++;
    start->is_hopeless = start->failures > cold_start->retries;
  }
}

blis__start blis__draw_start(const blis_cold_start *cold_start, uint32_t index, int64_t seed) {
  char stream[64];
  snprintf(stream, sizeof stream, "cold start of instance_%" PRIu32, index);
  blis_random random;
  blis_random_init_named(&random, seed, stream);
  const struct {
    blis_service service;
    const blis_delay *delay;
  } parts[] = {{BLIS_SERVICE_REQUESTED, &cold_start->request},
               {BLIS_SERVICE_PROVISIONING, &cold_start->provisioning},
               {BLIS_SERVICE_LOADING, &cold_start->loading},
               {BLIS_SERVICE_WARMING, &cold_start->warming}};
  blis__start start = {.warming_factor = cold_start->warming_factor};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    start.part_us[parts[k].service - BLIS_SERVICE_REQUESTED] =
        blis_delay_draw(parts[k].delay, &random);
  }
  draw_failures(&start, cold_start, &random);
  return start;
}

blis_status blis_cluster_instance_start(blis_cluster *cluster, uint32_t like,
                                        const blis_cold_start *cold_start, int64_t seed,
                                        uint32_t *index, blis_error *error) {
  const blis__start start = blis__draw_start(cold_start, cluster->existing, seed);
  return blis__start_next(cluster, like, &start, index, error);
}

blis_status blis__begin_loading(blis_cluster *cluster, uint32_t index, const blis__start *start,
                                blis_error *error) {
  BLIS_ASSERT(cluster->services[index] == BLIS_SERVICE_ACTIVE);
  bool takes_time =
      start->part_us[LOADING_PART] > 0 || start->part_us[WARMING_PART] > 0 || start->failures > 0;
  if (!takes_time) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(need_lives(cluster), error);
  life *l = life_of(cluster, index);
  l->start = *start;
  for (uint32_t i = l->index; i < blis__unit_end(cluster, index); i++) {
    cluster->services[i] = BLIS_SERVICE_LOADING;
    blis__snapshot_put_in_service(&cluster->snapshot, i, false);
    BLIS_TRY(BLIS__TELL(cluster, BLIS__STATE_ENTERED, error, .instance = i));
  }
  return go_on(cluster, l, LOADING_PART, error);
}

/* Stopping. */

static blis_status cut_off(blis_cluster *cluster, uint32_t index, blis_error *error) {
  const blis__eviction how = {.index = index, .reason = "instance-stopped"};
  uint32_t end = blis__unit_end(cluster, index);
  for (uint32_t i = blis__unit_first(cluster, index); i < end; i++) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__INSTANCE_LOST, error, .instance = i));
  }
  BLIS_TRY(blis__evict_all(cluster, &how, error));
  blis__note_group_change(cluster, index);
  return blis__check_drained(cluster, index, error);
}

static blis_status on_grace_over(void *ud, blis_cluster *cluster, blis_error *error) {
  const life *l = ud;
  if (cluster->services[l->index] != BLIS_SERVICE_DRAINING || l->grace_end_us != cluster->now_us) {
    return BLIS_OK;
  }
  return cut_off(cluster, l->index, error);
}

blis_status blis_cluster_instance_stop(blis_cluster *cluster, uint32_t index, blis_stop how,
                                       int64_t grace_us, blis_error *error) {
  BLIS_TRY_MEM(need_lives(cluster), error);
  BLIS_TRY(blis_cluster_instance_drain(cluster, index, how == BLIS_STOP_REDIRECT, error));
  if (cluster->services[index] != BLIS_SERVICE_DRAINING) {
    return BLIS_OK; /* it had no requests */
  }
  if (how == BLIS_STOP_IMMEDIATE || grace_us == 0) {
    return cut_off(cluster, index, error);
  }
  life *l = life_of(cluster, index);
  l->grace_end_us = blis_time_after_us(cluster->now_us, grace_us);
  if (l->grace_end_us == BLIS_TIME_NEVER_US) {
    return BLIS_OK;
  }
  return blis_cluster_call_at(cluster, l->grace_end_us, on_grace_over, l, error);
}

/* Recovery. */

static blis_status on_recovered(void *ud, blis_cluster *cluster, blis_error *error) {
  life *l = ud;
  blis_service service = cluster->services[l->index];
  bool is_down = blis__may_recover(cluster, l->index) || service == BLIS_SERVICE_RECOVERING;
  if (!is_down || !cluster->service_times[l->index].will_recover || l->due_us != cluster->now_us ||
      !blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  if (service != BLIS_SERVICE_RECOVERING && l->recovering_us > 0) {
    set_due(cluster, l, l->recovering_us);
    l->recovering_us = 0;
    BLIS_TRY(blis__set_service(cluster, l->index, BLIS_SERVICE_RECOVERING, error));
    return blis_cluster_call_at(cluster, l->due_us, on_recovered, l, error);
  }
  return blis_cluster_instance_restore(cluster, l->index, error);
}

blis_status blis_cluster_instance_recover(blis_cluster *cluster, uint32_t index, int64_t after_us,
                                          int64_t recovering_us, blis_error *error) {
  BLIS_TRY(blis__check_changeable(cluster, index, error));
  BLIS_TRY_MEM(need_lives(cluster), error);
  if (!blis__may_recover(cluster, index)) {
    return BLIS_OK;
  }
  life *l = life_of(cluster, index);
  blis__set_will_recover(cluster, index, true);
  l->recovering_us = recovering_us < after_us ? recovering_us : after_us;
  set_due(cluster, l, after_us - l->recovering_us);
  for (uint32_t i = l->index; i < blis__unit_end(cluster, index); i++) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__SERVICE_CHANGED, error,
                        .instance = i)); /* it is now billed again */
  }
  return blis_cluster_call_at(cluster, l->due_us, on_recovered, l, error);
}

blis_status blis_cluster_instance_give_up(blis_cluster *cluster, uint32_t index,
                                          blis_error *error) {
  blis__set_will_recover(cluster, index, false);
  return blis__set_service(cluster, index, BLIS_SERVICE_DRAINED, error);
}

bool blis_cluster_instance_will_recover(const blis_cluster *cluster, uint32_t index) {
  return cluster->service_times[index].will_recover;
}

/* Queries. */

int64_t blis_cluster_instance_failed_starts(const blis_cluster *cluster, uint32_t index) {
  return cluster->life_cycle == NULL ? 0 : life_of(cluster, index)->failed_starts;
}

int64_t blis_cluster_instance_time_us(const blis_cluster *cluster, uint32_t index,
                                      blis_service service, int64_t until_us) {
  const struct blis__service_times *times = &cluster->service_times[index];
  int64_t spent_us = times->spent_us[service];
  if (cluster->services[index] == service && until_us > times->since_us) {
    spent_us += until_us - times->since_us;
  }
  return spent_us;
}

/* Returns whether a state is billed. A failed instance is billed only if it will recover. */
static bool is_paid_service(blis_service service) {
  return service != BLIS_SERVICE_ABSENT && service != BLIS_SERVICE_DRAINED &&
         service != BLIS_SERVICE_PENDING;
}

bool blis_cluster_instance_is_paid(const blis_cluster *cluster, uint32_t index) {
  blis_service service = cluster->services[index];
  return is_paid_service(service) &&
         (service != BLIS_SERVICE_FAILED || (blis_cluster_instance_will_recover(cluster, index) &&
                                             !cluster->service_times[index].is_given_back));
}

int64_t blis_cluster_instance_paid_us(const blis_cluster *cluster, uint32_t index,
                                      int64_t until_us) {
  const struct blis__service_times *times = &cluster->service_times[index];
  int64_t paid_us = -times->unpaid_us;
  for (int s = 0; s < BLIS_SERVICE_COUNT; s++) {
    paid_us += is_paid_service((blis_service)s) ? times->spent_us[s] : 0;
  }
  if (blis_cluster_instance_is_paid(cluster, index) && until_us > times->since_us) {
    paid_us += until_us - times->since_us;
  }
  return paid_us;
}

const char *blis_service_name(blis_service service) {
  static const char *const names[BLIS_SERVICE_COUNT] = {
      [BLIS_SERVICE_ACTIVE] = "active",
      [BLIS_SERVICE_DRAINING] = "draining",
      [BLIS_SERVICE_DRAINED] = "drained",
      [BLIS_SERVICE_FAILED] = "failed",
      [BLIS_SERVICE_RECOVERING] = "recovering",
      [BLIS_SERVICE_ABSENT] = "absent",
      [BLIS_SERVICE_REQUESTED] = "requested",
      [BLIS_SERVICE_PENDING] = "pending",
      [BLIS_SERVICE_PROVISIONING] = "provisioning",
      [BLIS_SERVICE_LOADING] = "loading",
      [BLIS_SERVICE_WARMING] = "warming",
  };
  return names[service];
}
