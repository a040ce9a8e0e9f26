/* run_events.c - reports events to config.run_listener. */
#include "cluster/run_events.h"

#include "cluster/feature.h"

const char *blis_run_event_name(blis_run_event_kind kind) {
  static const char *const names[] = {
#define XX(constant, name) name,
      BLIS_RUN_EVENT_MAP(XX)
#undef XX
  };
  return names[kind];
}

static blis_status tell(const blis_run_listener *listener, blis_cluster *cluster,
                        const blis__news *news, blis_run_event event, blis_error *error) {
  blis_routing_request shown;
  if (news->request != NULL) {
    shown = blis__cluster_show_request(cluster, news->request);
    event.request = &shown;
  }
  event.time_us = cluster->now_us;
  return listener->hear(listener->ud, &event, error);
}

static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  const blis_run_event event = {.kind = BLIS_RUN_EVENT_REQUEST_ARRIVAL, .instance = -1, .to = -1};
  return tell(ud, cluster, news, event, error);
}

static blis_status on_prefilled(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  const blis_run_event event = {
      .kind = BLIS_RUN_EVENT_PREFILL_COMPLETE, .instance = news->instance, .to = -1};
  return tell(ud, cluster, news, event, error);
}

static blis_status on_token(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  const blis_run_event event = {.kind = BLIS_RUN_EVENT_TOKEN_GENERATED,
                                .instance = news->instance,
                                .to = -1,
                                .count = news->count};
  return tell(ud, cluster, news, event, error);
}

static blis_status on_batch(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  const blis_run_event event = {.kind = BLIS_RUN_EVENT_BATCH_SCHEDULE,
                                .instance = news->instance,
                                .to = -1,
                                .count = news->count};
  return tell(ud, cluster, news, event, error);
}

static blis_status on_transfer_began(void *ud, blis_cluster *cluster, const blis__news *news,
                                     blis_error *error) {
  const blis_run_event event = {.kind = BLIS_RUN_EVENT_KV_TRANSFER_START,
                                .instance = news->instance,
                                .to = news->destination};
  return tell(ud, cluster, news, event, error);
}

static blis_status on_transfer_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                                     blis_error *error) {
  const blis_run_event event = {.kind = BLIS_RUN_EVENT_KV_TRANSFER_COMPLETE,
                                .instance = news->instance,
                                .to = news->destination};
  return tell(ud, cluster, news, event, error);
}

static blis_run_event_kind kind_of_end(blis_request_state state) {
  if (blis_request_is_completed(state)) {
    return BLIS_RUN_EVENT_REQUEST_COMPLETE;
  }
  return state == BLIS_REQUEST_REJECTED ? BLIS_RUN_EVENT_REQUEST_REJECTED
                                        : BLIS_RUN_EVENT_REQUEST_FAILED;
}

/*
 * Reports the end of a request. Requests that are unfinished at the end of the run are not
 * reported.
 */
static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  const blis_run_listener *listener = ud;
  const blis_request_end *end = news->end;
  blis_run_event_kind kind = kind_of_end(end->state);
  if (end->state < BLIS_REQUEST_COMPLETED || (listener->kinds & BLIS_RUN_EVENT_BIT(kind)) == 0) {
    return BLIS_OK;
  }
  const blis_run_event event = {
      .kind = kind,
      .instance = end->instance,
      .to = -1,
      .reason = end->reason != NULL ? end->reason : blis_request_state_name(end->state)};
  return tell(listener, cluster, news, event, error);
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  blis_run_listener *to = &cluster->run_listener;
  const uint32_t arrivals = BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_ARRIVAL);
  const uint32_t ends = BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_COMPLETE) |
                        BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_REJECTED) |
                        BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_REQUEST_FAILED);
#define ON(kind, hear)                                                                             \
  ((to->kinds & BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_##kind)) != 0 ? (hear) : NULL)
  const blis__listener listener = {
      .ud = to,
      .phase = BLIS__POLICIES,
      .need = to->kinds == 0                 ? BLIS__NEEDS_NOTHING
              : (to->kinds & ~arrivals) == 0 ? BLIS__NEEDS_STATE
                                             : BLIS__NEEDS_ORDER,
      .on = {[BLIS__ARRIVED] = ON(REQUEST_ARRIVAL, on_arrived),
             [BLIS__PREFILLED] = ON(PREFILL_COMPLETE, on_prefilled),
             [BLIS__TOKEN] = ON(TOKEN_GENERATED, on_token),
             [BLIS__BATCH_FORMED] = ON(BATCH_SCHEDULE, on_batch),
             [BLIS__TRANSFER_BEGAN] = ON(KV_TRANSFER_START, on_transfer_began),
             [BLIS__TRANSFER_ENDED] = ON(KV_TRANSFER_COMPLETE, on_transfer_ended),
             [BLIS__ENDED] = (to->kinds & ends) != 0 ? on_ended : NULL}};
#undef ON
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

const blis__feature blis__run_events_feature = {
    .slot = BLIS_FEATURE_RUN_EVENTS,
    .name = "run events",
    .start = start,
};
