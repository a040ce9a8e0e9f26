/*
 * gateway_queue.h - the gateway's queue of a cluster: the functions that the clock
 * calls, and the interfaces between its files: enqueue.c (limits and displacement),
 * saturation.c (load of the instances), dispatch.c (the next request to leave),
 * cycle.c (when it leaves), expiry.c, eviction.c, and counts.c.
 */
#ifndef BLIS_CLUSTER_GATEWAY_GATEWAY_QUEUE_H
#define BLIS_CLUSTER_GATEWAY_GATEWAY_QUEUE_H

#include "base/containers/sketch.h"
#include "cluster/gateway/gateway.h"
#include "cluster/state.h"

/* The gateway's data about a request. */
typedef struct blis__gateway_part {
  uint32_t slot;         /* in the pool of these */
  uint32_t evictable;    /* place in the heap of eviction.c + 1; 0: it is in none */
  uint32_t prompt_place; /* its place in in_transit.c */
  bool is_bound;         /* counted there as in transit */
  int64_t wait_us;       /* in the queue; -1: it has never left it */
  int64_t left_us;       /* the queue, the last time */
} blis__gateway_part;

/* A sheddable request on an instance. */
typedef struct blis__evictable {
  blis__cluster_request *request;
  int32_t priority;
  int64_t dispatch_us;
} blis__evictable;

/* Outcomes of the requests of a band. */
typedef struct blis__gateway_book {
  blis_gateway_band_counts counts;
  blis_sketch wait_us; /* of the dispatched */
} blis__gateway_book;

/* With dispatch "event": dispatched requests that signals do not show yet (in_transit.c). */
typedef struct blis__gateway_bound {
  int64_t requests; /* in transit to an instance */
  int64_t prompt_tokens;
  BLIS_ARRAY(blis__cluster_request *) prompts; /* there, not prefilled */
} blis__gateway_bound;

typedef struct blis__gateway {
  blis_alloc alloc;
  blis_gateway policy;
  blis_pool parts; /* blis__gateway_part */
  blis_flow_queue *queue;
  blis_flow_service *service;
  uint32_t default_tenant; /* of requests that name none */
  BLIS_ARRAY(uint32_t) target_classes;
  BLIS_ARRAY(int64_t) targets_us; /* one each */

  blis_event_handle cycle; /* the next one, or BLIS_EVENT_NONE */
  int64_t cycle_at_us;
  int64_t last_cycle_us;
  bool is_ticking;
  bool needs_order; /* of the clock, just now */
  bool is_pure;     /* detector and limit are pure functions of their inputs */
  bool may_skip;    /* tries with nothing in between have equal results */
  blis_event_handle sweep;
  int64_t sweep_at_us;

  bool is_pool_empty;
  uint64_t pool_version;   /* of the candidates when that was looked at */
  int64_t regime_since_us; /* is_pool_empty has been like that */

  /* Saturation at the last measurement, and whether it is still current: no event since then
     could have changed it. */
  double saturation;
  bool is_current;
  double *columns; /* inputs of the detector */
  double *tokens_in_flight;
  BLIS_ARRAY(int32_t) priorities; /* of the bands */
  BLIS_ARRAY(double) ceilings;
  BLIS_ARRAY(blis_flow_band_seen) bands_seen; /* by the hooks */
  BLIS_ARRAY(size_t) bands_shown;             /* their places */
  BLIS_ARRAY(blis_flow_seen) flows_seen;

  blis__gateway_bound bound;
  BLIS_ARRAY(blis__evictable) evictables; /* a heap; the next victim first */
  int64_t next_eviction_us;
  blis_gateway_counts counts;
  BLIS_ARRAY(blis__gateway_book *) books; /* highest priority first */
  blis_sketch wait_us;                    /* of all dispatched */
} blis__gateway;

static inline blis__gateway *blis__gateway_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_GATEWAY);
}

/* NULL: the request has not come to the gateway yet. */
static inline blis__gateway_part *blis__gateway_part_of(const blis__cluster_request *request) {
  return request->parts[BLIS__PART_GATEWAY];
}

/* As a hook of BLIS__ROOM_MADE. */
BLIS_MUSTUSE blis_status blis__gateway_look_again(blis_cluster *cluster, uint32_t instance,
                                                  blis_error *error);

/* Between the files. */

/* Returns the statistics of a band: found or created, or only found. */
BLIS_MUSTUSE blis_status blis__gateway_book_of(blis__gateway *gateway, int32_t priority,
                                               blis__gateway_book **book);
blis__gateway_book *blis__gateway_known_book(const blis__gateway *gateway, int32_t priority);
/* Counts a request that enters the band; waiting is the new number. */
void blis__gateway_count_in(blis__gateway *gateway, blis__gateway_book *book, int64_t waiting);
void blis__gateway_free_books(blis__gateway *gateway);

/* Returns whether saturation depends only on requests that enter and leave, so that instance
   events can be ignored. */
bool blis__gateway_counts_requests(const blis_cluster *cluster, const blis__gateway *gateway);
/* Measures gateway->saturation, unless it is current. */
BLIS_MUSTUSE blis_status blis__gateway_look(blis_cluster *cluster, blis__gateway *gateway,
                                            blis_error *error);
/* Like blis__feature.saturation. Delayed signals are not read again for it. */
bool blis__gateway_tell_saturation(blis_cluster *cluster, bool is_live, double *value);
/* The bands and their ceilings at that saturation. */
BLIS_MUSTUSE blis_status blis__gateway_find_ceilings(blis__gateway *gateway, blis_error *error);

/* If the queue is empty and the item can be dispatched immediately, sets *has_passed: it skips
   the queue and continues to routing. */
BLIS_MUSTUSE blis_status blis__gateway_pass(blis_cluster *cluster, blis__gateway *gateway,
                                            const blis_flow_item *item, bool *has_passed,
                                            blis_error *error);
/* Dispatches at most one request; sets *has_left if it did. */
BLIS_MUSTUSE blis_status blis__gateway_try(blis_cluster *cluster, blis__gateway *gateway,
                                           bool *has_left, blis_error *error);

/* Updates the state after requests have left without a dispatch attempt. */
void blis__gateway_settle(blis_cluster *cluster, blis__gateway *gateway);
/* Capacity may be available: schedules an attempt if requests wait. */
BLIS_MUSTUSE blis_status blis__gateway_wake(blis_cluster *cluster, blis__gateway *gateway,
                                            blis_error *error);
/* One was queued: tries, now or later. */
BLIS_MUSTUSE blis_status blis__gateway_came(blis_cluster *cluster, blis__gateway *gateway,
                                            blis_error *error);
/* It is time to try. */
BLIS_MUSTUSE blis_status blis__gateway_cycle(blis_cluster *cluster, blis__gateway *gateway,
                                             blis_error *error);

/* Removes requests that have waited too long, and schedules the next removal. */
BLIS_MUSTUSE blis_status blis__gateway_sweep(blis_cluster *cluster, blis__gateway *gateway,
                                             blis_error *error);
BLIS_MUSTUSE blis_status blis__gateway_plan_sweep(blis_cluster *cluster, blis__gateway *gateway,
                                                  blis_error *error);

/* Notices whether there are instances. */
BLIS_MUSTUSE blis_status blis__gateway_note_pool(blis_cluster *cluster, blis__gateway *gateway,
                                                 blis_error *error);
bool blis__gateway_is_expired(const blis_cluster *cluster, const blis__gateway *gateway,
                              const blis_flow_item *item);
/* Ends a request that is no longer in the queue. */
BLIS_MUSTUSE blis_status blis__gateway_end(blis_cluster *cluster, blis__cluster_request *request,
                                           const char *reason, blis_error *error);
BLIS_MUSTUSE blis_status blis__gateway_expire(blis_cluster *cluster, blis__gateway *gateway,
                                              const blis_flow_item *item, blis_error *error);

/* With dispatch "event": a request has left the queue, has reached an instance or ended before
   (true: it was in transit), has finished its prompt, or has left the instance. */
void blis__bound_dispatch(blis__gateway *gateway, blis__cluster_request *request);
bool blis__bound_arrive(blis__gateway *gateway, blis__cluster_request *request);
BLIS_MUSTUSE blis_status blis__bound_join(blis__gateway *gateway, blis__cluster_request *request);
void blis__bound_settle(blis__gateway *gateway, blis__cluster_request *request);
/* Adds their future KV, as shares of the blocks of each instance of the group; includes requests
   in transit if counts_bound. blocks has capacity for a number per instance. */
void blis__bound_add_kv(const blis_cluster *cluster, const blis__gateway *gateway,
                        const blis__group *group, bool counts_bound, double *shares,
                        double *blocks);

/* A request that may be evicted is on an instance; is there no longer. */
BLIS_MUSTUSE blis_status blis__evictables_add(blis__gateway *gateway,
                                              blis__cluster_request *request);
void blis__evictables_remove(blis__gateway *gateway, blis__cluster_request *request);
/* Schedules the evictions of the policy at this saturation. The band, with this ceiling, is the
   highest closed band with requests. Sets *has_any if any are scheduled. */
BLIS_MUSTUSE blis_status blis__gateway_evict_for(blis_cluster *cluster, blis__gateway *gateway,
                                                 int32_t priority, double saturation,
                                                 double ceiling, bool *has_any, blis_error *error);
BLIS_MUSTUSE blis_status blis__gateway_evict(blis_cluster *cluster, blis__cluster_request *request,
                                             blis_error *error);

static inline blis__cluster_request *blis__gateway_request(const blis_cluster *cluster,
                                                           const blis_flow_item *item) {
  return blis_pool_item(&cluster->requests.pool, (uint32_t)item->handle);
}

static inline blis_status blis__gateway_push(blis_cluster *cluster, int event_class,
                                             int64_t time_us, void *object,
                                             blis_event_handle *handle) {
  const blis_event event = {.time_us = time_us, .event_class = event_class, .object = object};
  return blis_event_queue_push(cluster->queue, &event, handle);
}

#endif
