/* visits.h - records all instances that requests visited, for timelines, because request records
 * contain only the last instance.
 *
 * A visit is the time of a request at one instance, from dispatch to departure. A request that is
 * handed off or retried has several visits. If visits are not recorded, they have no cost. */
#ifndef BLIS_CLUSTER_REQUESTS_VISITS_H
#define BLIS_CLUSTER_REQUESTS_VISITS_H

#include <stdint.h>

#include "base/error.h"
#include "instance/request/live_request.h"

/* XX(constant, name): the outcome of the visit. */
#define BLIS_VISIT_END_MAP(XX)                                                                     \
  XX(COMPLETED, "completed")                                                                       \
  XX(LENGTH_CAPPED, "length_capped")                                                               \
  XX(TIMED_OUT, "timed_out")                                                                       \
  XX(UNSERVABLE, "unservable")                                                                     \
  XX(REJECTED, "rejected")                                                                         \
  XX(FAILED, "failed")                                                                             \
  XX(UNFINISHED, "unfinished") /* the run has ended */                                             \
  XX(PREFILLED, "prefilled")   /* its KV is handed off */                                          \
  XX(RECOMPUTED, "recomputed") /* after a failed hand-off, elsewhere */                            \
  XX(REROUTED, "rerouted")                                                                         \
  XX(RETRIED, "retried")

typedef enum blis_visit_end {
#define XX(constant, name) BLIS_VISIT_##constant,
  BLIS_VISIT_END_MAP(XX)
#undef XX
      BLIS_VISIT_END_COUNT
} blis_visit_end;

/* Static storage. */
const char *blis_visit_end_name(blis_visit_end end);

typedef struct blis_visit {
  blis_request_name request;
  uint32_t instance;
  uint32_t number; /* within the request, from 1 */
  int64_t from_us;
  int64_t queued_us;   /* time in the wait queue; -1 = never */
  int64_t admitted_us; /* time of its first batch; -1 = never */
  /* Time of its first token. It is from_us if the prompt was computed elsewhere, and -1 if there is
     no first token. */
  int64_t first_us;
  int64_t left_us; /* time at which it finally left the batch or the queue */
  int64_t to_us;   /* time at which its client received the last token */
  int64_t preemptions;
  uint8_t end;     /* blis_visit_end */
  uint8_t service; /* blis_service of the instance at that time */
} blis_visit;

/* A preemption: a request that moved from a batch back to the queue. */
typedef struct blis_preempted {
  blis_request_name request;
  uint32_t instance;
  uint32_t visit; /* number of the visit */
  int64_t time_us;
  int64_t resumed_us; /* time when it was in a batch again; -1 = never */
  /* Time when its lost KV is computed again; -1 = never, or nothing was lost. */
  int64_t recomputed_us;
} blis_preempted;

/* A change of an instance's service state. */
typedef struct blis_service_change {
  int64_t time_us;
  uint32_t instance;
  uint8_t service; /* blis_service */
} blis_service_change;

/*
 * Receives visits and preemptions when they end, in any order across instances, and service changes
 * in time order.
 */
typedef struct blis_visit_sink {
  void *ud;
  blis_status (*visit)(void *ud, const blis_visit *visit, blis_error *error);
  blis_status (*preempted)(void *ud, const blis_preempted *preempted, blis_error *error);
  blis_status (*service)(void *ud, const blis_service_change *change, blis_error *error);
} blis_visit_sink;

#endif
