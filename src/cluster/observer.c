/* observer.c - what the observer is told. */
#include "cluster/state.h"

blis_status blis__cluster_tell_arrival(blis_cluster *cluster,
                                       const blis__cluster_request *request,
                                       blis_error *error) {
  const blis_observer *observer = &cluster->observer;
  if (observer->arrived == NULL) {
    return BLIS_OK;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  return observer->arrived(observer->ud, &shown, cluster->now_us, error);
}

blis_status blis__cluster_tell_routed(blis_cluster *cluster,
                                      const blis__cluster_request *request,
                                      uint32_t instance, blis_error *error) {
  const blis_observer *observer = &cluster->observer;
  if (observer->routed == NULL) {
    return BLIS_OK;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  return observer->routed(observer->ud, &shown, instance, cluster->now_us,
                          error);
}

void blis__cluster_tell_first_token(blis_cluster *cluster,
                                    const blis__cluster_request *request) {
  const blis_observer *observer = &cluster->observer;
  if (observer->first_token == NULL ||
      cluster->observer_error.status != BLIS_OK) {
    return;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  blis_error error = {0};
  blis_status status =
      observer->first_token(observer->ud, &shown, (uint32_t)request->instance,
                            request->live.ttft_us, cluster->now_us, &error);
  if (status != BLIS_OK) {
    cluster->observer_error = error;
    cluster->observer_error.status = status;
  }
}

blis_status blis__cluster_tell_escalation(blis_cluster *cluster,
                                          const blis__cluster_request *request,
                                          const blis_cascade_attempt *attempt,
                                          blis_error *error) {
  const blis_observer *observer = &cluster->observer;
  if (observer->escalated == NULL) {
    return BLIS_OK;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  return observer->escalated(observer->ud, &shown, attempt, cluster->now_us,
                             error);
}

blis_status blis__cluster_tell_end(blis_cluster *cluster,
                                   const blis__cluster_request *request,
                                   const blis_request_end *end,
                                   blis_error *error) {
  const blis_observer *observer = &cluster->observer;
  if (observer->ended == NULL || end->state < BLIS_REQUEST_COMPLETED) {
    return BLIS_OK;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  return observer->ended(observer->ud, &shown, end, cluster->now_us, error);
}
