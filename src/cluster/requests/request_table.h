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

/* The position of a request in the cluster. */
typedef enum blis__place {
  BLIS__AT_ARRIVAL,
  BLIS__AT_ADMISSION,     /* at admission, or in transit to it */
  BLIS__HELD_ADMITTED,    /* held by a feature, which will send it to routing */
  BLIS__AT_ROUTING,       /* admitted: at routing, or in transit to it */
  BLIS__HELD_FOR_ROUTING, /* held by a feature, which will send it back to routing */
  BLIS__HELD_ROUTED,      /* held by a feature, which will deliver it to its instance */
  BLIS__AT_WAITING,       /* waits for an instance that may serve it */
  BLIS__AT_INSTANCE,
  BLIS__AT_END,
  BLIS__PLACE_COUNT
} blis__place;

/*
 * An attempt to serve a request on an instance. A request has its own attempt. Features may create
 * further attempts that run at the same time. live->owner is the attempt.
 */
typedef struct blis__attempt {
  struct blis__cluster_request *request;
  blis_live_request *live;
  /* Replace the cluster's own events (ending.h) unless they are NULL; ud is the cluster. */
  const blis_instance_events *events;
  void *part; /* data of the feature that created it */
  /*
   * The router that sent it to its instance. NULL = the router of the cluster, with the request's
   * ticket.
   */
  const blis_router *router;
  blis_ticket *ticket;
} blis__attempt;

typedef struct blis__cluster_request {
  blis_request request;
  blis_live_request live;
  blis__attempt own; /* attempt of `live` */
  /* Attempt of a feature that is on the instance instead of own; NULL = none. */
  blis__attempt *other;
  bool was_split; /* another attempt has computed its prompt, or was supposed to */
  /* The KV of its prompt was transferred to its instance from the other attempt. */
  bool kv_came;
  int32_t slo_value; /* value of its SLO class; negative = sheddable */
  int32_t instance;  /* -1 until it is routed */
  blis__place place;
  bool is_pending;          /* counted by the signal `pending` */
  int64_t waiting_since_us; /* when it began to wait for an instance */
  size_t waiting_index;     /* index in the pending queue */
  int32_t returns;          /* number of returns from instances to routing */
  int64_t pending_prefill_tokens;
  bool is_ongoing;  /* counted on its instance, see prefill_history.c */
  bool is_active;   /* counted by traffic_state.c: admitted and not ended */
  bool is_decoding; /* counted by traffic_state.c: after its first token */
  blis_ticket router_ticket;
  blis_ticket admission_ticket;
  void *parts[BLIS__REQUEST_PART_COUNT]; /* data of features; NULL = none */
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

/* Adds a copy of the request as the last arrival; NULL = out of memory. */
blis__cluster_request *blis__request_table_add(blis__request_table *table,
                                               const blis_request *request);

void blis__request_table_remove(blis__request_table *table, blis__cluster_request *request);

/* Changes the position of the request. The transition must be legal. */
void blis__request_move(blis__cluster_request *request, blis__place place);

/* Returns the request that a live record belongs to. */
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

/* Returns the live record of the attempt on its instance. */
static inline blis_live_request *blis__live_of(blis__cluster_request *request) {
  return request->other != NULL ? request->other->live : &request->live;
}

#endif
