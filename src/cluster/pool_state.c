#include "cluster/pool_state.h"

#include <math.h>

#include "cluster/feature.h"
#include "cluster/waiting_room.h"

#define FULL_QUEUE 5.0
#define FULL_KV 0.8

int64_t blis__waiting_for_pool(const blis_cluster *cluster) {
  return (cluster->waiting_room == NULL ? 0 : cluster->waiting_room->count) +
         blis__features_waiting(cluster);
}

double blis__instance_fullness(double queue_depth, double kv_utilization) {
  return fmax(queue_depth / FULL_QUEUE, kv_utilization / FULL_KV);
}

/* Returns a column, which is maintained after its first use; NULL = unavailable. */
static const double *column_of(const blis_cluster *cluster, const blis_routing_view *view,
                               blis_signal signal) {
  bool is_kept = view->columns[signal] != NULL ||
                 (view->column != NULL && view->column(view->column_ud, signal) != NULL);
  return is_kept ? blis__snapshot_column(&cluster->snapshot, signal) : NULL;
}

static double mean_fullness(blis_cluster *cluster, const blis_routing_view *view) {
  const double *queue = column_of(cluster, view, BLIS_SIGNAL_QUEUE_DEPTH);
  const double *kv = column_of(cluster, view, BLIS_SIGNAL_KV_UTILIZATION);
  const blis__group *group = NULL;
  double sum = 0;
  if (queue == NULL || kv == NULL ||
      blis__snapshot_survey(&cluster->snapshot, 0, -1, &group) != BLIS_OK) {
    return 0;
  }
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t i = group->instances[k];
    sum += blis__instance_fullness(queue[i], kv[i]);
  }
  return group->count == 0 ? 1 : sum / (double)group->count;
}

blis_pool_state blis__cluster_pool(void *ud, const blis_routing_view *view) {
  blis_cluster *cluster = ud;
  blis_pool_state state = blis_pool_state_of(blis__waiting_for_pool(cluster));
  if (!blis__features_saturation(cluster, false, &state.pool_saturation)) {
    state.pool_saturation = mean_fullness(cluster, view);
  }
  return state;
}
