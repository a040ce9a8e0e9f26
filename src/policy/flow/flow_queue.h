/*
 * flow_queue.h - the requests that a gateway queues: bands by priority, flows by tenant within each
 * band, and an order within each flow.
 *
 * It contains the waiting items and their order, and is independent of time, saturation, and
 * instances: the dispatcher queries one band after another. Every item, including rejected items,
 * gets a sequence number when it is enqueued. Adding and taking cost O(1) while the items of a flow
 * leave in order of arrival, and O(log items) otherwise. Separate flows add O(log flows). Rotation,
 * and policies that choose a flow themselves, add O(waiting flows in the band).
 */
#ifndef BLIS_POLICY_FLOW_FLOW_QUEUE_H
#define BLIS_POLICY_FLOW_FLOW_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/intern.h"
#include "base/error.h"

/* Selects the flow of a band that is served. */
typedef enum blis_flow_fairness {
  BLIS_FLOW_STRICT,        /* the first item of the band; tenants are not separated, so all items
                              of a band are one flow */
  BLIS_FLOW_STRICT_FIFO,   /* the flow with the oldest item */
  BLIS_FLOW_ROUND_ROBIN,   /* tenants in byte order, after the last served */
  BLIS_FLOW_LEAST_SERVICE, /* by attained service and waiting time; see flow_service.h */
  BLIS_FLOW_CHOSEN         /* the caller chooses, see take_from */
} blis_flow_fairness;

/* Limits of one band; 0 = no limit. */
typedef struct blis_flow_band_limits {
  int32_t priority;
  int64_t max_requests;
  int64_t max_bytes;
} blis_flow_band_limits;

/* 0 = no limit. */
typedef struct blis_flow_limits {
  int64_t max_requests;
  int64_t max_bytes;
  int64_t band_max_requests;
  int64_t band_max_bytes;
  /*
   * If max_requests is exceeded, an item of a higher priority evicts the newest item of the lowest
   * priority, provided that the lowest priority is negative.
   */
  bool sheds;
  /* Bands with their own limits, each listed once. The queue copies them. */
  const blis_flow_band_limits *bands;
  size_t band_count;
} blis_flow_limits;

typedef struct blis_flow_item {
  uint64_t handle; /* the caller's handle of the request */
  int32_t priority;
  uint32_t tenant; /* number in the strings of the queue */
  /* Within a flow, the item with the lowest order comes first, then the oldest item. 0 = order
     of arrival. */
  int64_t order;
  int64_t size_bytes;
  int64_t enqueue_us;
} blis_flow_item;

typedef enum blis_flow_verdict {
  BLIS_FLOW_QUEUED,
  BLIS_FLOW_FULL_REQUESTS,
  BLIS_FLOW_FULL_BYTES,
  BLIS_FLOW_BAND_FULL_REQUESTS,
  BLIS_FLOW_BAND_FULL_BYTES
} blis_flow_verdict;

typedef struct blis_flow_queue blis_flow_queue;
struct blis_flow_service;

/*
 * Creates a queue. strings and service are borrowed; service may be NULL unless fairness is
 * least-service. NULL if memory runs out.
 */
blis_flow_queue *blis_flow_queue_new(const blis_alloc *alloc, const blis_flow_limits *limits,
                                     blis_flow_fairness fairness, const blis_intern *strings,
                                     struct blis_flow_service *service);
void blis_flow_queue_free(blis_flow_queue *queue);

/*
 * Queues the item, or reports which limit is full. *has_displaced is set if another item was
 * removed to make space; that item is stored in *displaced. BLIS_ERR_NOMEM leaves the queue
 * unchanged.
 */
BLIS_MUSTUSE blis_status blis_flow_queue_add(blis_flow_queue *queue, const blis_flow_item *item,
                                             blis_flow_verdict *verdict, bool *has_displaced,
                                             blis_flow_item *displaced);

/*
 * Creates the band of that priority if it is missing; an empty band counts as empty from this call
 * on. BLIS_ERR_NOMEM leaves the queue unchanged.
 */
BLIS_MUSTUSE blis_status blis_flow_queue_open_band(blis_flow_queue *queue, int32_t priority,
                                                   int64_t now_us);

/*
 * Equivalent to adding the item and taking it immediately, for an empty queue in which the item's
 * band exists. Returns false without an effect if the item does not fit.
 */
bool blis_flow_queue_pass(blis_flow_queue *queue, const blis_flow_item *item);

/* Removes and returns the item that has waited longest. The queue must not be empty. */
blis_flow_item blis_flow_queue_take_oldest(blis_flow_queue *queue, int64_t now_us);

/* Finds the item that has waited longest. Returns false if the queue is empty. */
bool blis_flow_queue_oldest(const blis_flow_queue *queue, blis_flow_item *item);

int64_t blis_flow_queue_count(const blis_flow_queue *queue);
int64_t blis_flow_queue_bytes(const blis_flow_queue *queue);

/*
 * The bands in order of decreasing priority, including empty bands. A band exists from its first
 * item, even a rejected one, until it is forgotten.
 */
typedef struct blis_flow_band {
  int32_t priority;
  int64_t count;
  int64_t bytes;
  int64_t idle_since_us; /* start of the idle time of an empty band */
  int64_t oldest_us;     /* enqueue of the oldest item; valid if the band has items */
} blis_flow_band;

size_t blis_flow_queue_band_count(const blis_flow_queue *queue);
blis_flow_band blis_flow_queue_band(const blis_flow_queue *queue, size_t index);

/* Forgets bands that have been empty since before before_us. */
void blis_flow_queue_forget_bands(blis_flow_queue *queue, int64_t before_us);

/* Returns the time at which the first band will have been empty for this long.
   BLIS_TIME_NEVER_US = no band is empty. */
int64_t blis_flow_queue_first_idle_us(const blis_flow_queue *queue, int64_t idle_us);

/* Takes the next item of a nonempty band. Not for BLIS_FLOW_CHOSEN. */
blis_flow_item blis_flow_queue_take(blis_flow_queue *queue, size_t band, int64_t now_us);

/*
 * A waiting flow of a band. Flows are in byte order of their tenants; policies that choose a flow
 * themselves (BLIS_FLOW_CHOSEN) read them.
 */
typedef struct blis_flow {
  uint32_t tenant;
  const char *name; /* name of the tenant */
  int64_t count;
  blis_flow_item head;
} blis_flow;

size_t blis_flow_queue_flow_count(const blis_flow_queue *queue, size_t band);
blis_flow blis_flow_queue_flow(const blis_flow_queue *queue, size_t band, size_t flow);
/* With least-service: updates the queue after the service of a tenant has grown. */
void blis_flow_queue_note_service(blis_flow_queue *queue, uint32_t tenant);
blis_flow_item blis_flow_queue_take_from(blis_flow_queue *queue, size_t band, size_t flow,
                                         int64_t now_us);

#endif
