/* observer.c - reports events to config.observer. */
#include "cluster/cascade/cascade.h"
#include "cluster/feature.h"

static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  const blis_observer *observer = ud;
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  return observer->arrived(observer->ud, &shown, cluster->now_us, error);
}

static blis_status on_routed(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  const blis_observer *observer = ud;
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  return observer->routed(observer->ud, &shown, news->instance, cluster->now_us, error);
}

static blis_status on_first_token(void *ud, blis_cluster *cluster, const blis__news *news,
                                  blis_error *error) {
  const blis_observer *observer = ud;
  const blis__cluster_request *request = news->request;
  const blis_routing_request shown = blis__cluster_show_request(cluster, request);
  return observer->first_token(observer->ud, &shown, (uint32_t)request->instance,
                               request->live.ttft_us, cluster->now_us, error);
}

static blis_status on_judged(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  const blis_observer *observer = ud;
  const blis__judgement *judgement = news->decided;
  if (judgement->verdict != BLIS_CASCADE_ESCALATE) {
    return BLIS_OK;
  }
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  return observer->escalated(observer->ud, &shown, judgement->attempt, cluster->now_us, error);
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  const blis_observer *observer = ud;
  if (news->end->state < BLIS_REQUEST_COMPLETED) {
    return BLIS_OK;
  }
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  return observer->ended(observer->ud, &shown, news->end, cluster->now_us, error);
}

/* Returns the required time order. An observer may inspect the instances at any event. */
static blis__need need_of(const blis_observer *observer) {
  if (observer->first_token != NULL || observer->ended != NULL) {
    return BLIS__NEEDS_ORDER;
  }
  return observer->arrived != NULL || observer->routed != NULL ? BLIS__NEEDS_STATE
                                                               : BLIS__NEEDS_NOTHING;
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  const blis_observer *observer = &cluster->observer;
  const blis__listener listener = {
      .ud = &cluster->observer,
      .phase = BLIS__WATCHERS,
      .need = need_of(observer),
      .on = {
          [BLIS__ARRIVED] = observer->arrived == NULL ? NULL : on_arrived,
          [BLIS__ROUTED] = observer->routed == NULL ? NULL : on_routed,
          [BLIS__FIRST_TOKEN] = observer->first_token == NULL ? NULL : on_first_token,
          [BLIS__JUDGED] = observer->escalated == NULL ? NULL : on_judged,
          [BLIS__ENDED] = observer->ended == NULL ? NULL : on_ended,
      }};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

const blis__feature blis__observer_feature = {
    .slot = BLIS_FEATURE_OBSERVER,
    .name = "observer",
    .start = start,
};
