/*
 * expiry.c - removes requests that wait too long in the gateway queue. The limit depends on whether
 * instances exist.
 */
#include "base/time.h"
#include "cluster/ending.h"
#include "cluster/gateway/gateway.h"
#include "cluster/gateway/gateway_queue.h"

blis_status blis__gateway_end(blis_cluster *cluster, blis__cluster_request *request,
                              const char *reason, blis_error *error) {
  request->live.state = BLIS_REQUEST_REJECTED;
  return blis__cluster_end(cluster, request, cluster->now_us, reason, error);
}

static int64_t budget_us(const blis__gateway *gateway) {
  return gateway->is_pool_empty ? gateway->policy.empty_ttl_us : gateway->policy.ttl_us;
}

/* Returns when a request with this enqueue time expires. This is never earlier than for a request
   that was enqueued earlier. */
static int64_t expiry_us(const blis__gateway *gateway, int64_t enqueue_us) {
  int64_t ttl_us = gateway->policy.ttl_us;
  int64_t empty_ttl_us = gateway->policy.empty_ttl_us;
  int64_t start_us = gateway->regime_since_us > enqueue_us ? gateway->regime_since_us : enqueue_us;
  if (budget_us(gateway) == 0) {
    return BLIS_TIME_NEVER_US;
  }
  int64_t due_us = blis_time_after_us(start_us, budget_us(gateway));
  if (ttl_us == 0 || empty_ttl_us == 0) {
    return due_us;
  }
  int64_t last_us = blis_time_after_us(enqueue_us, ttl_us > empty_ttl_us ? ttl_us : empty_ttl_us);
  return due_us < last_us ? due_us : last_us;
}

bool blis__gateway_is_expired(const blis_cluster *cluster, const blis__gateway *gateway,
                              const blis_flow_item *item) {
  return expiry_us(gateway, item->enqueue_us) <= cluster->now_us;
}

blis_status blis__gateway_expire(blis_cluster *cluster, blis__gateway *gateway,
                                 const blis_flow_item *item, blis_error *error) {
  blis_gateway_band_counts *band = &blis__gateway_known_book(gateway, item->priority)->counts;
  gateway->counts.expired++;
  band->expired++;
  band->waiting--;
  gateway->counts.without_instances += gateway->is_pool_empty;
  return blis__gateway_end(cluster, blis__gateway_request(cluster, item),
                           gateway->is_pool_empty ? BLIS_GATEWAY_NO_INSTANCE : BLIS_GATEWAY_EXPIRED,
                           error);
}

/* Schedules the removal of the oldest request. */
blis_status blis__gateway_plan_sweep(blis_cluster *cluster, blis__gateway *gateway,
                                     blis_error *error) {
  blis_flow_item oldest;
  int64_t due_us = blis_flow_queue_oldest(gateway->queue, &oldest)
                       ? expiry_us(gateway, oldest.enqueue_us)
                       : BLIS_TIME_NEVER_US;
  int64_t rest_us = due_us % gateway->policy.sweep_us;
  if (due_us != BLIS_TIME_NEVER_US && rest_us > 0) {
    due_us = blis_time_after_us(due_us, gateway->policy.sweep_us - rest_us);
  }
  if (due_us == gateway->sweep_at_us) {
    return BLIS_OK;
  }
  blis_event_queue_cancel(cluster->queue, gateway->sweep);
  gateway->sweep = BLIS_EVENT_NONE;
  gateway->sweep_at_us = due_us;
  if (due_us == BLIS_TIME_NEVER_US) {
    return BLIS_OK;
  }
  due_us = due_us < cluster->now_us ? cluster->now_us : due_us;
  BLIS_TRY_MEM(blis__gateway_push(cluster, BLIS__CLUSTER_EXPIRY, due_us, NULL, &gateway->sweep),
               error);
  return BLIS_OK;
}

blis_status blis__gateway_note_pool(blis_cluster *cluster, blis__gateway *gateway,
                                    blis_error *error) {
  uint64_t version = cluster->snapshot.candidates.version;
  if (gateway->pool_version == version) {
    return BLIS_OK;
  }
  gateway->pool_version = version;
  blis__group *group =
      blis__candidates_for(&cluster->snapshot.candidates, cluster->source->strings, 0, 0);
  BLIS_TRY_NEW(group, error);
  bool is_empty = group->count == 0;
  if (is_empty == gateway->is_pool_empty) {
    return BLIS_OK;
  }
  gateway->is_pool_empty = is_empty;
  gateway->regime_since_us = cluster->now_us;
  return blis__gateway_plan_sweep(cluster, gateway, error);
}

blis_status blis__gateway_sweep(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  gateway->sweep = BLIS_EVENT_NONE;
  gateway->sweep_at_us = BLIS_TIME_NEVER_US;
  BLIS_TRY(blis__gateway_note_pool(cluster, gateway, error));
  blis_flow_item oldest;
  while (blis_flow_queue_oldest(gateway->queue, &oldest) &&
         blis__gateway_is_expired(cluster, gateway, &oldest)) {
    oldest = blis_flow_queue_take_oldest(gateway->queue, cluster->now_us);
    BLIS_TRY(blis__gateway_expire(cluster, gateway, &oldest, error));
  }
  return blis__gateway_plan_sweep(cluster, gateway, error);
}
