/*
 * run_events.h - events of a run, for policies that subscribe to them.
 *
 * The kinds are the "Event Types" of RouteSim's design document, plus all other events that end a
 * request. A kind without subscribers is not delivered and has no cost. Kinds that instances report
 * require events in time order (BLIS__NEEDS_ORDER). Tokens and batches are slow, because they
 * require the stepwise engine, which computes every step.
 */
#ifndef BLIS_CLUSTER_RUN_EVENTS_H
#define BLIS_CLUSTER_RUN_EVENTS_H

#include <stdint.h>

#include "base/error.h"
#include "policy/contract/view.h"

/* XX(constant, name) */
#define BLIS_RUN_EVENT_MAP(XX)                                                                     \
  XX(REQUEST_ARRIVAL, "request_arrival")                                                           \
  XX(PREFILL_COMPLETE, "prefill_complete")                                                         \
  XX(TOKEN_GENERATED, "token_generated")                                                           \
  XX(REQUEST_COMPLETE, "request_complete")                                                         \
  XX(REQUEST_REJECTED, "request_rejected")                                                         \
  XX(REQUEST_FAILED, "request_failed")                                                             \
  XX(BATCH_SCHEDULE, "batch_schedule")                                                             \
  XX(KV_TRANSFER_START, "kv_transfer_start")                                                       \
  XX(KV_TRANSFER_COMPLETE, "kv_transfer_complete")

typedef enum blis_run_event_kind {
#define XX(constant, name) BLIS_RUN_EVENT_##constant,
  BLIS_RUN_EVENT_MAP(XX)
#undef XX
      BLIS_RUN_EVENT_KIND_COUNT
} blis_run_event_kind;

#define BLIS_RUN_EVENT_BIT(kind) (1u << (kind))

/* Events that only a step-by-step engine reports. */
#define BLIS_RUN_EVENTS_OF_STEPS                                                                   \
  (BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_TOKEN_GENERATED) |                                            \
   BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_BATCH_SCHEDULE))

/* Static storage. */
const char *blis_run_event_name(blis_run_event_kind kind);

typedef struct blis_run_event {
  blis_run_event_kind kind;
  int64_t time_us;
  /* The request without its prompt; NULL for a batch. */
  const blis_routing_request *request;
  int64_t instance;   /* instance of the event, or source of a transfer; -1 = none */
  int64_t to;         /* destination of a transfer; otherwise -1 */
  int64_t count;      /* number of the token, from 1, or number of requests in the batch */
  const char *reason; /* reason of a rejection or failure; NULL = none */
} blis_run_event;

typedef struct blis_run_listener {
  void *ud;
  uint32_t kinds; /* the BLIS_RUN_EVENT_BITs of all kinds that are delivered */
  /* Called after the effects of the event. A failure stops the run. */
  blis_status (*hear)(void *ud, const blis_run_event *event, blis_error *error);
} blis_run_listener;

#endif
