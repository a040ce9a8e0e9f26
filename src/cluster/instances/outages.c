/* outages.c - failures, drains, restores, and slowdowns of instances. */
#include <inttypes.h>

#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/instances/placement.h"
#include "cluster/instances/send_again.h"
#include "cluster/service.h"
#include "cluster/units.h"

static blis_status lose(blis_cluster *cluster, blis__cluster_request *request, const char *reason,
                        blis_error *error) {
  request->live.state = BLIS_REQUEST_FAILED;
  return blis__cluster_end(cluster, request, cluster->now_us, reason, error);
}

static blis_status evict(blis_cluster *cluster, blis__cluster_request *request,
                         const blis__eviction *how, blis_error *error) {
  BLIS_TRY(blis__cluster_take_away(cluster, request, error));
  return blis__goes_on(how->loss) ? blis__send_again(cluster, request, how->loss, error)
                                  : lose(cluster, request, how->reason, error);
}

blis_status blis__evict_all(blis_cluster *cluster, const blis__eviction *how, blis_error *error) {
  blis__cluster_request *later;
  int32_t first = (int32_t)blis__unit_first(cluster, how->index);
  int32_t end = (int32_t)blis__unit_end(cluster, how->index);
  for (blis__cluster_request *request = cluster->requests.first; request != NULL; request = later) {
    later = request->later;
    bool is_there = request->place == BLIS__AT_INSTANCE && request->instance >= first &&
                    request->instance < end;
    bool is_spared = how->spares_running && request->live.state == BLIS_REQUEST_RUNNING;
    if (is_there && !is_spared) {
      BLIS_TRY(evict(cluster, request, how, error));
    }
  }
  return BLIS_OK;
}

blis_status blis_cluster_instance_fail(blis_cluster *cluster, uint32_t index, blis_loss loss,
                                       blis_error *error) {
  BLIS_TRY(blis__check_changeable(cluster, index, error));
  blis_service service = cluster->services[index];
  if (service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_DRAINED) {
    return BLIS_OK;
  }
  uint32_t first = blis__unit_first(cluster, index);
  uint32_t end = blis__unit_end(cluster, index);
  BLIS_TRY(blis__set_service(cluster, index, BLIS_SERVICE_FAILED, error));
  for (uint32_t i = first; i < end; i++) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__INSTANCE_LOST, error, .instance = i, .loss = loss));
  }
  const blis__eviction how = {.index = index, .loss = loss, .reason = "instance-failed"};
  BLIS_TRY(blis__evict_all(cluster, &how, error));
  for (uint32_t i = first; i < end; i++) {
    BLIS_TRY(blis__restart_instance(cluster, i, error));
  }
  blis__note_group_change(cluster, index);
  return BLIS_OK;
}

blis_status blis_cluster_instance_drain(blis_cluster *cluster, uint32_t index, bool re_route,
                                        blis_error *error) {
  BLIS_TRY(blis__check_changeable(cluster, index, error));
  blis_service service = cluster->services[index];
  if (service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_DRAINED ||
      service == BLIS_SERVICE_RECOVERING) {
    return BLIS_OK;
  }
  if (blis__is_starting(service)) {
    return blis__set_service(cluster, index, BLIS_SERVICE_DRAINED, error);
  }
  BLIS_TRY_MEM(blis__add_drains(cluster), error);
  BLIS_TRY(blis__set_service(cluster, index, BLIS_SERVICE_DRAINING, error));
  if (re_route) {
    const blis__eviction how = {
        .index = index, .spares_running = true, .loss = {.kind = BLIS_LOSS_REROUTED}};
    BLIS_TRY(blis__evict_all(cluster, &how, error));
    blis__note_group_change(cluster, index);
  }
  return blis__check_drained(cluster, index, error);
}

/* Allocates GPUs for the instance, because others may have taken them since it was removed. */
static blis_status need_place(blis_cluster *cluster, uint32_t index, blis_error *error) {
  blis__placement placement;
  BLIS_TRY(blis__place_unit(cluster, index, &placement, error));
  if (placement == BLIS__PLACED) {
    return BLIS_OK;
  }
  blis__unplace_unit(cluster, index);
  return blis_fail(error, BLIS_ERR_INVALID, "%s cannot recover: it does not fit on the nodes now",
                   cluster->ids[index]);
}

static blis_status start_anew(blis_cluster *cluster, uint32_t index, blis_error *error) {
  uint32_t end = blis__unit_end(cluster, index);
  for (uint32_t i = blis__unit_first(cluster, index); i < end; i++) {
    /* In BLIS (Go), KV in transfer to an instance does not prevent the end of its drain. */
    BLIS_TRY(BLIS__TELL(cluster, BLIS__INSTANCE_LOST, error, .instance = i));
    BLIS_TRY(blis__restart_instance(cluster, i, error));
  }
  return BLIS_OK;
}

blis_status blis_cluster_instance_restore(blis_cluster *cluster, uint32_t index,
                                          blis_error *error) {
  BLIS_TRY(blis__check_changeable(cluster, index, error));
  blis_service service = cluster->services[index];
  if (service == BLIS_SERVICE_ACTIVE) {
    return BLIS_OK;
  }
  bool is_stopped = service == BLIS_SERVICE_DRAINED || service == BLIS_SERVICE_DRAINING;
  if (is_stopped && cluster->number_keeper != NULL) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s cannot recover: it is %s, and %s has continued without it; "
                     "ids are not reused",
                     cluster->ids[index], service == BLIS_SERVICE_DRAINED ? "drained" : "draining",
                     cluster->number_keeper);
  }
  BLIS_TRY(need_place(cluster, index, error));
  if (service == BLIS_SERVICE_DRAINED) { /* a failed instance is already up */
    BLIS_TRY(start_anew(cluster, index, error));
  }
  blis__set_will_recover(cluster, index, false);
  BLIS_TRY(blis__set_service(cluster, index, BLIS_SERVICE_ACTIVE, error));
  blis__note_group_change(cluster, index);
  return BLIS_OK;
}

blis_status blis_cluster_instance_slow(blis_cluster *cluster, uint32_t index, double factor,
                                       blis_error *error) {
  BLIS_TRY(blis__check_changeable(cluster, index, error));
  if (!(factor >= 1e-3 && factor <= 1e6)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the factor of step times is %g, expected 0.001 to "
                     "1000000",
                     cluster->ids[index], factor);
  }
  blis__slow_down(cluster, index, BLIS__SLOW_BY_CALL, factor);
  return BLIS_OK;
}

blis_status blis_cluster_instance_lose_cache(blis_cluster *cluster, uint32_t index,
                                             blis_error *error) {
  BLIS_TRY(blis__check_changeable(cluster, index, error));
  BLIS_TRY(blis__cluster_bring_forward(cluster, index, error));
  BLIS_TRY(blis_instance_forget_cache(cluster->instances[index], error));
  blis__note_instance_change(cluster, index);
  return BLIS_OK;
}

blis_service blis_cluster_instance_service(const blis_cluster *cluster, uint32_t index) {
  return cluster->services[index];
}

const blis_instance_facts *blis_cluster_instance_facts(const blis_cluster *cluster,
                                                       uint32_t index) {
  return &cluster->facts[index];
}
