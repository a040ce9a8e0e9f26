/* priority.c - sets the priority of a request on arrival. */
#include "cluster/features.h"

static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  return cluster->config.priority(ud, &shown, cluster->now_us, &news->request->live.priority,
                                  error);
}

blis_status blis__add_priority(blis_cluster *cluster) {
  if (cluster->config.priority == NULL) {
    return BLIS_OK;
  }
  const blis__listener listener = {.ud = cluster->config.priority_ud,
                                   .rank = BLIS__POLICIES,
                                   .on = {[BLIS__ARRIVED] = on_arrived}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
