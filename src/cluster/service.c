#include "cluster/service.h"

#include <inttypes.h>
#include <math.h>

#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/units.h"

blis_status blis__check_changeable(const blis_cluster *cluster, uint32_t index, blis_error *error) {
  uint32_t count = cluster->existing;
  if (index >= count) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "there is no instance %" PRIu32 "; there are 0 to %" PRIu32, index, count - 1);
  }
  if (cluster->is_busy) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s cannot fail, drain, recover, or slow down during a "
                     "decision; schedule it with sim:at",
                     cluster->ids[index]);
  }
  return BLIS_OK;
}

static bool may_become(blis_service from, blis_service to) {
  bool is_up = blis__is_up(from);
  switch (to) {
  case BLIS_SERVICE_ABSENT:
    return false;
  case BLIS_SERVICE_ACTIVE:
    return from != BLIS_SERVICE_ACTIVE;
  case BLIS_SERVICE_DRAINED: /* only instances that are up have work */
    return from == BLIS_SERVICE_DRAINING || blis__is_starting(from) ||
           from == BLIS_SERVICE_FAILED || from == BLIS_SERVICE_RECOVERING;
  case BLIS_SERVICE_FAILED:
    return is_up || blis__is_starting(from) || from == BLIS_SERVICE_RECOVERING ||
           from == BLIS_SERVICE_ABSENT;
  case BLIS_SERVICE_RECOVERING:
    return from == BLIS_SERVICE_FAILED || from == BLIS_SERVICE_DRAINED;
  case BLIS_SERVICE_DRAINING: /* a draining instance can be drained again */
    return is_up;
  default: /* the parts of a start are in sequence, and a start can be repeated */
    return from == BLIS_SERVICE_ABSENT ||
           (blis__is_starting(from) && (from < to || to >= BLIS_SERVICE_PROVISIONING));
  }
}

/*
 * Requires time order while an instance drains, because otherwise the end of a drain is not
 * determined.
 */
static void keep_order(blis_cluster *cluster, blis_service before, blis_service service) {
  if (before == service) {
    return;
  }
  if (service == BLIS_SERVICE_DRAINING) {
    blis__listeners_need(&cluster->listeners, BLIS__NEEDS_ORDER);
  } else if (before == BLIS_SERVICE_DRAINING) {
    blis__listeners_need_no_more(&cluster->listeners, BLIS__NEEDS_ORDER);
  }
}

static void become(blis_cluster *cluster, uint32_t index, blis_service service) {
  blis_service before = cluster->services[index];
  struct blis__service_times *times = &cluster->service_times[index];
  BLIS_ASSERT(may_become(before, service));
  BLIS_ASSERT(cluster->now_us >= times->since_us);
  times->spent_us[before] += cluster->now_us - times->since_us;
  if (before == BLIS_SERVICE_FAILED) {
    times->unpaid_us += times->is_given_back ? cluster->now_us - times->since_us : 0;
    times->is_given_back = false;
  }
  times->since_us = cluster->now_us;
  cluster->services[index] = service;
  keep_order(cluster, before, service);
  bool serves = service == BLIS_SERVICE_ACTIVE;
  if (serves != (before == BLIS_SERVICE_ACTIVE)) {
    blis__snapshot_put_in_service(&cluster->snapshot, index, serves);
  }
}

/* All states change before the first listener is called. */
blis_status blis__set_service(blis_cluster *cluster, uint32_t index, blis_service service,
                              blis_error *error) {
  uint32_t first = blis__unit_first(cluster, index);
  uint32_t end = blis__unit_end(cluster, index);
  for (uint32_t i = first; i < end; i++) {
    become(cluster, i, service);
  }
  for (uint32_t i = first; i < end; i++) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__SERVICE_CHANGED, error, .instance = i));
  }
  return BLIS_OK;
}

void blis__set_will_recover(const blis_cluster *cluster, uint32_t index, bool will_recover) {
  uint32_t end = blis__unit_end(cluster, index);
  for (uint32_t i = blis__unit_first(cluster, index); i < end; i++) {
    cluster->service_times[i].will_recover = will_recover;
  }
}

bool blis__may_recover(const blis_cluster *cluster, uint32_t index) {
  blis_service service = cluster->services[index];
  return service == BLIS_SERVICE_FAILED ||
         (service == BLIS_SERVICE_DRAINED && cluster->number_keeper == NULL);
}

bool blis__will_serve(const blis_cluster *cluster, uint32_t index) {
  blis_service service = cluster->services[index];
  return blis__is_starting(service) || service == BLIS_SERVICE_RECOVERING ||
         (cluster->service_times[index].will_recover &&
          (blis__may_recover(cluster, index) || service == BLIS_SERVICE_DRAINING));
}

double blis__slowness_of(const blis_cluster *cluster, uint32_t index) {
  const struct blis__speed *speed = &cluster->speeds[index];
  double all = 1;
  for (int k = 0; k < BLIS__SLOWNESS_COUNT; k++) {
    all *= speed->factors[k] == 0 ? 1 : speed->factors[k];
  }
  return fmin(fmax(all, 1e-3), 1e6);
}

void blis__slow_down(blis_cluster *cluster, uint32_t index, blis__slowness reason, double factor) {
  cluster->speeds[index].factors[reason] = factor;
  blis_instance_slow_down(cluster->instances[index], blis__slowness_of(cluster, index));
}

void blis__slow_down_group(blis_cluster *cluster, uint32_t index, blis__slowness reason,
                           double factor) {
  uint32_t end = blis__unit_end(cluster, index);
  for (uint32_t i = blis__unit_first(cluster, index); i < end; i++) {
    blis__slow_down(cluster, i, reason, factor);
  }
}

void blis__note_instance_change(blis_cluster *cluster, uint32_t index) {
  blis__snapshot_instance_changed(&cluster->snapshot, index);
  blis__cluster_note_next(cluster, index);
}

void blis__note_group_change(blis_cluster *cluster, uint32_t index) {
  uint32_t end = blis__unit_end(cluster, index);
  for (uint32_t i = blis__unit_first(cluster, index); i < end; i++) {
    blis__note_instance_change(cluster, i);
  }
}

blis_status blis__restart_instance(blis_cluster *cluster, uint32_t index, blis_error *error) {
  BLIS_ASSERT(blis__snapshot_live(&cluster->snapshot, index, BLIS_SIGNAL_IN_FLIGHT) == 0);
  BLIS_TRY(blis_instance_restart(cluster->instances[index], error));
  if (cluster->loads.lost != NULL) {
    cluster->loads.lost(cluster->loads.ud, index, cluster->now_us);
  }
  BLIS_TRY(BLIS__TELL(cluster, BLIS__RESTARTED, error, .instance = index));
  blis__snapshot_forget(&cluster->snapshot, index);
  return BLIS_OK;
}

static bool has_requests(const blis_cluster *cluster, uint32_t index) {
  uint32_t end = blis__unit_end(cluster, index);
  for (uint32_t i = blis__unit_first(cluster, index); i < end; i++) {
    if (blis__snapshot_live(&cluster->snapshot, i, BLIS_SIGNAL_IN_FLIGHT) > 0) {
      return true;
    }
  }
  return false;
}

blis_status blis__check_drained(blis_cluster *cluster, uint32_t index, blis_error *error) {
  if (cluster->services[index] == BLIS_SERVICE_DRAINING && !has_requests(cluster, index)) {
    return blis__set_service(cluster, index, BLIS_SERVICE_DRAINED, error);
  }
  return BLIS_OK;
}

static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)ud;
  return blis__check_drained(cluster, (uint32_t)news->request->instance, error);
}

blis_status blis__add_drains(blis_cluster *cluster) {
  if (cluster->has_drains) {
    return BLIS_OK;
  }
  const blis__listener listener = {.phase = BLIS__SEQUELS, .on = {[BLIS__LEFT] = on_left}};
  BLIS_TRY(blis__listeners_add(&cluster->listeners, &listener));
  cluster->has_drains = true;
  return BLIS_OK;
}
