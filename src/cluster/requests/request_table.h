/*
 * request_table.h - the live requests of a cluster in order of arrival.
 */
#ifndef BLIS_CLUSTER_REQUESTS_REQUEST_TABLE_H
#define BLIS_CLUSTER_REQUESTS_REQUEST_TABLE_H

#include "base/pool.h"
#include "cluster/lists/features.h"
#include "instance/instance.h"
#include "policy/contract/router.h"
#include "workload/request.h"

/* Where a request is, as the cluster sees it. */
typedef enum blis__place {
  BLIS__AT_ARRIVAL,
  BLIS__AT_ADMISSION,     /* or in transit there */
  BLIS__HELD_ADMITTED,    /* a feature has it, and sends it to routing */
  BLIS__AT_ROUTING,       /* admitted; or in transit there */
  BLIS__HELD_FOR_ROUTING, /* a feature has it, and sends it back to routing */
  BLIS__HELD_ROUTED,      /* a feature has it, and brings it to its instance */
  BLIS__AT_WAITING,       /* waits for an instance that may serve it */
  BLIS__AT_INSTANCE,
  BLIS__AT_END,
  BLIS__PLACE_COUNT
} blis__place;

/*
 * An attempt to serve a request at an instance. A request has its own attempt, and features may
 * make others that run at the same time. live->owner is the attempt.
 */
typedef struct blis__attempt {
  struct blis__cluster_request *request;
  blis_live_request *live;
  /* Replace the cluster's own events (ending.h) unless they are NULL; ud is the cluster. */
  const blis_instance_events *events;
  void *part; /* data of the feature that has made it */
  /* The router that has sent it to its instance. NULL: the cluster's, with the request's ticket. */
  const blis_router *router;
  blis_ticket *ticket;
} blis__attempt;

typedef struct blis__cluster_request {
  blis_request request;
  blis_live_request live;
  blis__attempt own;    /* of live */
  blis__attempt *other; /* at instance in place of it, for a feature; NULL: none is */
  bool was_split;       /* another attempt has computed its prompt, or was to */
  bool kv_came;         /* the KV of its prompt came from there to its instance */
  int32_t slo_value;    /* how important its class is; below 0 = sheddable */
  int32_t instance;     /* -1 until it is routed */
  blis__place place;
  bool is_pending;          /* counted by the signal of that name */
  int64_t waiting_since_us; /* at that place */
  size_t waiting_index;     /* in the pending queue */
  int32_t returns;          /* from instances to routing, so far */
  int64_t pending_prefill_tokens;
  bool is_ongoing;  /* counted where it is, see prefill_history.c */
  bool is_active;   /* admitted and not ended, as traffic_state.c counts */
  bool is_decoding; /* and there after its first token */
  blis_ticket router_ticket;
  blis_ticket admission_ticket;
  void *parts[BLIS__REQUEST_PART_COUNT]; /* what features keep about it; NULL: nothing */
  struct blis__cluster_request *earlier;
  struct blis__cluster_request *later;
} blis__cluster_request;

typedef struct blis__request_table {
  blis_pool pool;
  blis__cluster_request *first;
  blis__cluster_request *last;
} blis__request_table;

/* Copies *alloc; allocates nothing yet. */
void blis__request_table_init(blis__request_table *table, const blis_alloc *alloc);
void blis__request_table_deinit(blis__request_table *table);

/* A copy of the request as the last arrival; NULL = out of memory. */
blis__cluster_request *blis__request_table_add(blis__request_table *table,
                                               const blis_request *request);

void blis__request_table_remove(blis__request_table *table, blis__cluster_request *request);

/* Moves the request to a place that is legal after its present one. */
void blis__request_move(blis__cluster_request *request, blis__place place);

/* The request of any of its records. */
static inline blis__cluster_request *blis__request_table_of(const blis__request_table *table,
                                                            const blis_live_request *live) {
  return blis_pool_item(&table->pool, live->slot);
}

static inline blis__attempt *blis__attempt_of(const blis_live_request *live) {
  return live->owner;
}

static inline blis__cluster_request *blis__request_of(const blis_live_request *live) {
  return blis__attempt_of(live)->request;
}

/* The record of the attempt at its instance. */
static inline blis_live_request *blis__live_of(blis__cluster_request *request) {
  return request->other != NULL ? request->other->live : &request->live;
}

#endif
