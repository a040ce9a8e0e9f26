/*
 * request_table.h - the live requests of a cluster in order of arrival.
 */
#ifndef BLIS_CLUSTER_REQUEST_TABLE_H
#define BLIS_CLUSTER_REQUEST_TABLE_H

#include "base/pool.h"
#include "instance/instance.h"
#include "policy/contract/router.h"
#include "workload/request.h"

/* Where a request is, as the cluster sees it. */
typedef enum blis__place {
  BLIS__AT_ARRIVAL,
  BLIS__AT_ADMISSION, /* or on its way there */
  BLIS__AT_GATEWAY,   /* admitted, and in its queue */
  BLIS__AT_ROUTING,   /* admitted; or on its way there */
  BLIS__AT_ENCODER,   /* waits there, or is encoded; then it is routed */
  BLIS__AT_HANDOFF,   /* routed; prefilled elsewhere, or its KV on its way */
  BLIS__AT_WAITING,   /* for an instance that may take it */
  BLIS__AT_INSTANCE,
  BLIS__AT_END,
  BLIS__PLACE_COUNT
} blis__place;

/*
 * An attempt to serve a request at an instance. A request has one of its own, and features may
 * make others that go on at the same time. live->owner is the attempt.
 */
typedef struct blis__attempt {
  struct blis__cluster_request *request;
  blis_live_request *live;
  /* In place of the cluster's own (ending.h), where they are not NULL; ud is the cluster. */
  const blis_instance_events *events;
  void *part; /* what the feature that has made it keeps about it */
  /* Who has sent it where it is. NULL: the cluster's router, with the request's ticket. */
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
  size_t waiting_index;     /* in the waiting room */
  int32_t returns;          /* from instances to routing, so far */
  uint32_t evictable;       /* place in gateway_evict.c + 1; 0 = none */
  uint32_t prompt_place;    /* the same in gateway_bound.c */
  bool is_bound;            /* counted there as on its way */
  int64_t pending_prefill_tokens;
  bool is_ongoing;         /* counted where it is, see prefill_history.c */
  bool is_active;          /* admitted and not ended, as traffic_state.c counts */
  bool is_decoding;        /* and there after its first token */
  int64_t gateway_wait_us; /* in the gateway's queue; -1 = never left it */
  int64_t gateway_left_us; /* the last time */
  blis_ticket router_ticket;
  blis_ticket admission_ticket;
  struct blis__handoff *handoff;     /* handoff_run.h; NULL = there was none */
  struct blis__encoding *encoding;   /* encode.c; NULL = there was none */
  struct blis__cascade_run *cascade; /* cascade_run.h; NULL = takes no part */
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

/* It goes on to a place that requests reach from where it is. */
void blis__request_move(blis__cluster_request *request, blis__place place);

/* Of any record about it: also of the prefill's, where that is apart. */
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
