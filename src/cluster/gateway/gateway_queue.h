/*
 * gateway_queue.h - the gateway queue of a cluster: the functions that the clock calls, and the
 * interfaces between its files. These are enqueue.c (limits and displacement), saturation.c (load
 * of the instances), dispatch.c (selection of the next request), cycle.c (time of dispatch),
 * expiry.c, eviction.c, and counts.c.
 */
#ifndef BLIS_CLUSTER_GATEWAY_GATEWAY_QUEUE_H
#define BLIS_CLUSTER_GATEWAY_GATEWAY_QUEUE_H

#include "base/containers/sketch.h"
#include "cluster/gateway/gateway.h"
#include "cluster/state.h"

/* The gateway's data about a request. */
typedef struct blis__gateway_part {
  uint32_t slot;         /* index in the pool of parts */
  uint32_t evictable;    /* index in the heap of eviction.c + 1; 0 = not in the heap */
  uint32_t prompt_place; /* index in the list of in_transit.c */
  bool is_bound;         /* counted as in transit by in_transit.c */
  int64_t wait_us;       /* wait in the queue; -1 = it has never left the queue */
  int64_t left_us;       /* when it last left the queue */
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
  blis_sketch wait_us; /* waits of dispatched requests */
} blis__gateway_book;

/* With dispatch "event": dispatched requests that signals do not show yet (in_transit.c). */
typedef struct blis__gateway_bound {
  int64_t requests; /* in transit to an instance */
  int64_t prompt_tokens;
  BLIS_ARRAY(blis__cluster_request *) prompts; /* on an instance, but not prefilled */
} blis__gateway_bound;

typedef struct blis__gateway {
  blis_alloc alloc;
  blis_gateway policy;
  blis_pool parts; /* blis__gateway_part */
  blis_flow_queue *queue;
  blis_flow_service *service;
  uint32_t default_tenant; /* tenant of requests without a tenant */
  BLIS_ARRAY(uint32_t) target_classes;
  BLIS_ARRAY(int64_t) targets_us; /* one per target class */

  blis_event_handle cycle; /* the next cycle event, or BLIS_EVENT_NONE */
  int64_t cycle_at_us;
  int64_t last_cycle_us;
  bool is_ticking;
  bool needs_order; /* currently requires events in time order (BLIS__NEEDS_ORDER) */
  bool is_pure;     /* detector and limit are pure functions of their inputs */
  bool may_skip;    /* repeated attempts without intermediate events have equal results */
  blis_event_handle sweep;
  int64_t sweep_at_us;

  bool is_pool_empty;
  uint64_t pool_version;   /* version of the candidates when is_pool_empty was determined */
  int64_t regime_since_us; /* when is_pool_empty last changed */

  /* Saturation at the last measurement, and whether it is still current because no event since then
     could have changed it. */
  double saturation;
  bool is_current;
  double *columns; /* inputs of the detector */
  double *tokens_in_flight;
  BLIS_ARRAY(int32_t) priorities; /* priorities of the bands */
  BLIS_ARRAY(double) ceilings;
  BLIS_ARRAY(blis_flow_band_seen) bands_seen; /* as shown to the hooks */
  BLIS_ARRAY(size_t) bands_shown;             /* their indexes */
  BLIS_ARRAY(blis_flow_seen) flows_seen;

  blis__gateway_bound bound;
  BLIS_ARRAY(blis__evictable) evictables; /* a heap with the next victim first */
  int64_t next_eviction_us;
  blis_gateway_counts counts;
  BLIS_ARRAY(blis__gateway_book *) books; /* highest priority first */
  blis_sketch wait_us;                    /* waits of all dispatched requests */
} blis__gateway;

static inline blis__gateway *blis__gateway_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_GATEWAY);
}

/* Returns NULL if the request has not reached the gateway yet. */
static inline blis__gateway_part *blis__gateway_part_of(const blis__cluster_request *request) {
  return request->parts[BLIS__PART_GATEWAY];
}

/* The listener of BLIS__ROOM_MADE. */
BLIS_MUSTUSE blis_status blis__gateway_look_again(blis_cluster *cluster, uint32_t instance,
                                                  blis_error *error);

/* Shared by the files of the gateway queue. */

/* Find the statistics of a band. The first function creates them if they are missing. */
BLIS_MUSTUSE blis_status blis__gateway_book_of(blis__gateway *gateway, int32_t priority,
                                               blis__gateway_book **book);
blis__gateway_book *blis__gateway_known_book(const blis__gateway *gateway, int32_t priority);
/* Counts a request that enters the band. waiting is the new number of waiting requests. */
void blis__gateway_count_in(blis__gateway *gateway, blis__gateway_book *book, int64_t waiting);
void blis__gateway_free_books(blis__gateway *gateway);

/* Returns whether saturation depends only on requests that enter and leave, so that other instance
   events can be ignored. */
bool blis__gateway_counts_requests(const blis_cluster *cluster, const blis__gateway *gateway);
/* Measures gateway->saturation unless it is current. */
BLIS_MUSTUSE blis_status blis__gateway_look(blis_cluster *cluster, blis__gateway *gateway,
                                            blis_error *error);
/* Like blis__feature.saturation. Does not refresh delayed signals. */
bool blis__gateway_tell_saturation(blis_cluster *cluster, bool is_live, double *value);
/* Determines the bands and their ceilings at the current saturation. */
BLIS_MUSTUSE blis_status blis__gateway_find_ceilings(blis__gateway *gateway, blis_error *error);

/* If the queue is empty and the item can be dispatched immediately, sets *has_passed. The item then
   bypasses the queue and continues to routing. */
BLIS_MUSTUSE blis_status blis__gateway_pass(blis_cluster *cluster, blis__gateway *gateway,
                                            const blis_flow_item *item, bool *has_passed,
                                            blis_error *error);
/* Dispatches at most one request; sets *has_left if it did. */
BLIS_MUSTUSE blis_status blis__gateway_try(blis_cluster *cluster, blis__gateway *gateway,
                                           bool *has_left, blis_error *error);

/* Updates the state after requests have left without a dispatch attempt. */
void blis__gateway_settle(blis_cluster *cluster, blis__gateway *gateway);
/* Called when capacity may be available. Schedules a dispatch attempt if requests wait. */
BLIS_MUSTUSE blis_status blis__gateway_wake(blis_cluster *cluster, blis__gateway *gateway,
                                            blis_error *error);
/* Called when a request was queued. Attempts a dispatch now or schedules one. */
BLIS_MUSTUSE blis_status blis__gateway_came(blis_cluster *cluster, blis__gateway *gateway,
                                            blis_error *error);
/* Executes a scheduled dispatch attempt. */
BLIS_MUSTUSE blis_status blis__gateway_cycle(blis_cluster *cluster, blis__gateway *gateway,
                                             blis_error *error);

/* Removes requests that have waited too long, and schedules the next removal. */
BLIS_MUSTUSE blis_status blis__gateway_sweep(blis_cluster *cluster, blis__gateway *gateway,
                                             blis_error *error);
BLIS_MUSTUSE blis_status blis__gateway_plan_sweep(blis_cluster *cluster, blis__gateway *gateway,
                                                  blis_error *error);

/* Updates whether there are instances. */
BLIS_MUSTUSE blis_status blis__gateway_note_pool(blis_cluster *cluster, blis__gateway *gateway,
                                                 blis_error *error);
bool blis__gateway_is_expired(const blis_cluster *cluster, const blis__gateway *gateway,
                              const blis_flow_item *item);
/* Ends a request that is no longer in the queue. */
BLIS_MUSTUSE blis_status blis__gateway_end(blis_cluster *cluster, blis__cluster_request *request,
                                           const char *reason, blis_error *error);
BLIS_MUSTUSE blis_status blis__gateway_expire(blis_cluster *cluster, blis__gateway *gateway,
                                              const blis_flow_item *item, blis_error *error);

/*
 * With dispatch "event": dispatch reports that a request has left the queue. arrive reports that it
 * has reached an instance or ended before that, and returns whether it was in transit. join reports
 * that it has joined an instance without its KV. settle reports that it has finished its prompt or
 * left the instance.
 */
void blis__bound_dispatch(blis__gateway *gateway, blis__cluster_request *request);
bool blis__bound_arrive(blis__gateway *gateway, blis__cluster_request *request);
BLIS_MUSTUSE blis_status blis__bound_join(blis__gateway *gateway, blis__cluster_request *request);
void blis__bound_settle(blis__gateway *gateway, blis__cluster_request *request);
/* Adds the future KV of these requests, as fractions of the blocks of each instance of the group.
   Includes requests in transit if counts_bound. blocks is scratch memory with one number per
   instance. */
void blis__bound_add_kv(const blis_cluster *cluster, const blis__gateway *gateway,
                        const blis__group *group, bool counts_bound, double *shares,
                        double *blocks);

/* Add and remove a request on an instance that may be evicted. */
BLIS_MUSTUSE blis_status blis__evictables_add(blis__gateway *gateway,
                                              blis__cluster_request *request);
void blis__evictables_remove(blis__gateway *gateway, blis__cluster_request *request);
/* Schedules the evictions of the policy at this saturation. priority and ceiling describe the
   highest closed band with requests. *has_any is set to whether any evictions are scheduled. */
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
