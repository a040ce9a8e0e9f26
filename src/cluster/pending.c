/*
 * pending.c - instances that wait for room on machines: they start when others
 * have gone, or when a node is ready.
 */
#include "cluster/clock.h"
#include "cluster/placement.h"
#include "cluster/service.h"
#include "cluster/start.h"

/* Those that have failed for good hold nothing. */
static void collect(const blis_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (cluster->services[i] == BLIS_SERVICE_FAILED &&
        !blis_cluster_instance_will_recover(cluster, i)) {
      blis__unplace_instance(cluster, i);
    }
  }
}

static blis_status look(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  cluster->looks_for_room = false;
  if (!blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  collect(cluster);
  return blis__start_pending(cluster, error);
}

/* When the event is over. */
static blis_status look_for_room(blis_cluster *cluster, blis_error *error) {
  if (cluster->looks_for_room) {
    return BLIS_OK;
  }
  cluster->looks_for_room = true;
  return blis_cluster_call_at(cluster, cluster->now_us, look, NULL, error);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)ud;
  blis_service service = cluster->services[news->instance];
  if (service == BLIS_SERVICE_DRAINED) {
    blis__unplace_instance(cluster, news->instance);
  }
  bool is_gone = service == BLIS_SERVICE_DRAINED || service == BLIS_SERVICE_FAILED;
  return is_gone ? look_for_room(cluster, error) : BLIS_OK;
}

blis_status blis_cluster_set_node_pools(blis_cluster *cluster, const blis_node_pools_config *config,
                                        blis_error *error) {
  BLIS_TRY(blis__make_node_pools(cluster, config, look_for_room, error));
  const blis__listener listener = {.rank = BLIS__BOOKS,
                                   .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}
