/*
 * flow_queue.h - the requests that a gateway holds back: bands by priority, flows
 * by tenant within each, an order within each flow.
 *
 * It contains the waiting items and their order, and is independent of time,
 * saturation, and instances: the dispatcher queries band after band. Every item,
 * refused ones included, has a sequence number by its enqueue. Adding and taking
 * are O(1) while the items of a flow leave in the order of arrival, and O(log
 * items) otherwise. Separate flows add O(log flows). Rotation, and policies that
 * choose themselves, add O(flows that wait in the band).
 */
#ifndef BLIS_POLICY_FLOW_FLOW_QUEUE_H
#define BLIS_POLICY_FLOW_FLOW_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/intern.h"
#include "base/error.h"

/* Which flow of a band is served. */
typedef enum blis_flow_fairness {
  BLIS_FLOW_STRICT,        /* the first item of all: tenants are not separated, and all items of
                              a band are one flow */
  BLIS_FLOW_STRICT_FIFO,   /* the one whose oldest item is oldest of all */
  BLIS_FLOW_ROUND_ROBIN,   /* tenants in byte order, after the last served */
  BLIS_FLOW_LEAST_SERVICE, /* by attained service and wait; flow_service.h */
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
   * Above max_requests, the newest item of the lowest priority is evicted for an
   * item of a higher priority, if its priority is below 0.
   */
  bool sheds;
  /* Bands with their own limits, each once; the queue copies them. */
  const blis_flow_band_limits *bands;
  size_t band_count;
} blis_flow_limits;

typedef struct blis_flow_item {
  uint64_t handle; /* the caller's name of the request */
  int32_t priority;
  uint32_t tenant; /* in the strings of the queue */
  /* Within its flow the least order is first, then the oldest; 0 = first come. */
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
 * strings and service are borrowed; service may be NULL unless fairness is
 * least-service. NULL when memory runs out.
 */
blis_flow_queue *blis_flow_queue_new(const blis_alloc *alloc, const blis_flow_limits *limits,
                                     blis_flow_fairness fairness, const blis_intern *strings,
                                     struct blis_flow_service *service);
void blis_flow_queue_free(blis_flow_queue *queue);

/*
 * Queues the item, or reports which limit is full. *has_displaced is set if another
 * item was removed to make space; it is stored in *displaced. BLIS_ERR_NOMEM leaves
 * the queue unchanged.
 */
BLIS_MUSTUSE blis_status blis_flow_queue_add(blis_flow_queue *queue, const blis_flow_item *item,
                                             blis_flow_verdict *verdict, bool *has_displaced,
                                             blis_flow_item *displaced);

/*
 * Creates the band of that priority if it is missing; an empty band counts as empty
 * since this call. BLIS_ERR_NOMEM leaves the queue unchanged.
 */
BLIS_MUSTUSE blis_status blis_flow_queue_open_band(blis_flow_queue *queue, int32_t priority,
                                                   int64_t now_us);

/*
 * Has the effect of adding the item and taking it at once, for an empty queue whose
 * band exists. Returns false without an effect if the item does not fit.
 */
bool blis_flow_queue_pass(blis_flow_queue *queue, const blis_flow_item *item);

/* Removes the item that has waited longest; there is one. */
blis_flow_item blis_flow_queue_take_oldest(blis_flow_queue *queue, int64_t now_us);

/* The item that has waited longest; false when none waits. */
bool blis_flow_queue_oldest(const blis_flow_queue *queue, blis_flow_item *item);

int64_t blis_flow_queue_count(const blis_flow_queue *queue);
int64_t blis_flow_queue_bytes(const blis_flow_queue *queue);

/*
 * Bands from the highest priority down, empty ones included. A band exists after
 * its first item, even a refused one, until it is forgotten.
 */
typedef struct blis_flow_band {
  int32_t priority;
  int64_t count;
  int64_t bytes;
  int64_t idle_since_us; /* of an empty one */
  int64_t oldest_us;     /* enqueue of the oldest item; valid if the band has items */
} blis_flow_band;

size_t blis_flow_queue_band_count(const blis_flow_queue *queue);
blis_flow_band blis_flow_queue_band(const blis_flow_queue *queue, size_t index);

/* Forgets bands that have been empty since an earlier time than before_us. */
void blis_flow_queue_forget_bands(blis_flow_queue *queue, int64_t before_us);

/* When the first band will have been empty so long; BLIS_TIME_NEVER_US = none
   is empty. */
int64_t blis_flow_queue_first_idle_us(const blis_flow_queue *queue, int64_t idle_us);

/* Takes the next item of a band that has one; not with BLIS_FLOW_CHOSEN. */
blis_flow_item blis_flow_queue_take(blis_flow_queue *queue, size_t band, int64_t now_us);

/*
 * Flows that wait in a band, in byte order of their tenants, for policies that
 * choose a flow themselves (BLIS_FLOW_CHOSEN).
 */
typedef struct blis_flow {
  uint32_t tenant;
  const char *name; /* of the tenant */
  int64_t count;
  blis_flow_item head;
} blis_flow;

size_t blis_flow_queue_flow_count(const blis_flow_queue *queue, size_t band);
blis_flow blis_flow_queue_flow(const blis_flow_queue *queue, size_t band, size_t flow);
/* With least-service: the service of a tenant has grown. */
void blis_flow_queue_note_service(blis_flow_queue *queue, uint32_t tenant);
blis_flow_item blis_flow_queue_take_from(blis_flow_queue *queue, size_t band, size_t flow,
                                         int64_t now_us);

#endif
