/*
 * gateway.h - a queue between admission and routing: its options and counters.
 *
 * Admitted requests wait in bands of equal priority (the value of their SLO class)
 * and leave one by one while a detector reports that the instances have capacity
 * (policy/flow). Bands are tried from the highest priority down, and the first
 * closed band ends the dispatch attempt. Sources: llm-d-router ebab6879, flow
 * control; BLIS (Go, inference-sim f90a1e3a), --flow-control.
 */
#ifndef BLIS_CLUSTER_GATEWAY_GATEWAY_H
#define BLIS_CLUSTER_GATEWAY_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "policy/flow/flow_hook.h"
#include "policy/flow/flow_queue.h"
#include "policy/flow/flow_service.h"
#include "policy/flow/saturation.h"
#include "policy/flow/usage_limit.h"

/* When a request may leave the queue. */
typedef enum blis_gateway_dispatch {
  /*
   * llm-d: one request at each arrival, and one at each multiple of cycle_us;
   * arrivals in the same microsecond share a cycle.
   */
  BLIS_GATEWAY_CYCLE,
  /* BLIS (Go): the same for each that comes, and cycle_us after a try. */
  BLIS_GATEWAY_TICK,
  /*
   * Ideal: dispatches as many requests as possible, at each arrival and 1 us after
   * any activity of an instance, by the current state of the instances. Detector
   * and usage limit must be pure, and no request is evicted.
   */
  BLIS_GATEWAY_EVENT
} blis_gateway_dispatch;

/* Which request is first in a flow. */
typedef enum blis_gateway_order {
  BLIS_GATEWAY_FIFO,
  BLIS_GATEWAY_DEADLINE,        /* by arrival + wanted time to first token */
  BLIS_GATEWAY_DEADLINE_INSIDE, /* BLIS (Go): by enqueue + that time */
  BLIS_GATEWAY_EDF,             /* by enqueue + longest wait; none = last */
  BLIS_GATEWAY_SCRIPTED         /* as order_hook says */
} blis_gateway_order;

/* Requests of a priority below 0 may be taken from their instances. */
typedef enum blis_gateway_eviction {
  BLIS_GATEWAY_SPARES,
  /* BLIS (Go): one at each try while saturation >= 1. */
  BLIS_GATEWAY_EVICTS_ONE,
  /*
   * llm-d: as many as it takes to open a band, at most two, of lower
   * priorities than that band's, and the next ones not before 500 ms.
   */
  BLIS_GATEWAY_EVICTS_SOME
} blis_gateway_eviction;

/* Target time to first token of requests without their own. */
typedef struct blis_gateway_target {
  const char *slo_class;
  int64_t target_us;
} blis_gateway_target;

typedef struct blis_gateway {
  blis_saturation saturation;   /* ops NULL = never full */
  blis_usage_limit usage_limit; /* ops NULL = 1 for all */
  blis_gateway_dispatch dispatch;
  int64_t cycle_us;        /* > 0 */
  blis_flow_limits limits; /* copied */
  blis_flow_fairness fairness;
  blis_flow_service_rules service; /* of least-service */
  blis_gateway_order order;
  const blis_gateway_target *targets; /* copied */
  size_t target_count;
  blis_gateway_eviction eviction;
  /*
   * Maximum wait of a request, with and without instances, counted since its
   * enqueue or the last change between the two. The larger one limits the total
   * wait. 0 = no limit.
   */
  int64_t ttl_us;
  int64_t empty_ttl_us;
  int64_t sweep_us;          /* expired ones leave at its multiples; > 0 */
  int64_t forget_bands_us;   /* minimum time that a band is empty; 0 = never */
  bool by_stage;             /* the larger saturation of prefill and decode, if apart */
  blis_flow_hook order_hook; /* of BLIS_GATEWAY_SCRIPTED */
  blis_flow_hook flow_hook;  /* of BLIS_FLOW_CHOSEN; when there are several */
  /* Chooses the next band with requests, instead of the highest one; if it is closed, no request
     leaves. */
  blis_flow_hook band_hook;
} blis_gateway;

/* Frees the data of the policies; idempotent. */
void blis_gateway_free(blis_gateway *gateway);

/* Reasons of requests that end here; all but the evicted are rejected. */
#define BLIS_GATEWAY_FULL "rejected-saturated"           /* 429 */
#define BLIS_GATEWAY_NO_INSTANCE "rejected-no-endpoints" /* 503 */
#define BLIS_GATEWAY_EXPIRED "rejected-ttl-expired"      /* 429 */
#define BLIS_GATEWAY_SHED "gateway-shed"                 /* 429 */
#define BLIS_GATEWAY_EVICTED "gateway-evicted"           /* 429; failed */

typedef struct blis_gateway_counts {
  int64_t enqueued; /* = dispatched + shed + expired + waiting */
  int64_t dispatched;
  int64_t rejected; /* the queue was full */
  int64_t shed;     /* evicted for a request of a higher priority */
  int64_t expired;
  int64_t without_instances; /* part of rejected and expired */
  int64_t evicted;           /* from instances */
  int64_t waiting;
  int64_t peak;      /* waiting at once */
  double wait_us;    /* of the dispatched, added up */
  int64_t tries;     /* to dispatch */
  double saturation; /* at the last try */
} blis_gateway_counts;

/* Counts of one band since the start, including a forgotten band. */
typedef struct blis_gateway_band_counts {
  int64_t priority;
  int64_t enqueued;
  int64_t dispatched;
  int64_t rejected;
  int64_t shed;
  int64_t expired;
  int64_t evicted;
  int64_t waiting;
  int64_t peak;
  double dispatched_tokens; /* of prompts */
} blis_gateway_band_counts;

/*
 * The HTTP status of llm-d's gateway for these reasons. Routing without candidates
 * gives 503 without an instance, and 429 if all were filtered out. Requests refused
 * by its admission, legacy or by a plugin, give 429. 0 for any other reason.
 */
int blis_gateway_status_code(const char *reason);

/*
 * Takes the policies of *gateway (even on failure), once, before the first event:
 * admitted requests wait in a queue until they may be routed. BLIS_ERR_INVALID
 * names the value that is out of range.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_gateway(blis_cluster *cluster, blis_gateway *gateway,
                                                  blis_error *error);

/* All zero without a queue. */
void blis_cluster_get_gateway(const blis_cluster *cluster, blis_gateway_counts *counts);

/* Its bands, the highest priority first, and how long the dispatched waited;
   NULL without such a queue. */
size_t blis_cluster_gateway_band_count(const blis_cluster *cluster);
blis_gateway_band_counts blis_cluster_gateway_band(const blis_cluster *cluster, size_t index);
const blis_sketch *blis_cluster_gateway_waits(const blis_cluster *cluster);
const blis_sketch *blis_cluster_gateway_band_waits(const blis_cluster *cluster, size_t index);

/*
 * Saturation of the instances, by the gateway's detector. The value is current, or
 * from the last call if the detector is scripted or has a memory. Returns false
 * without a gateway's queue.
 */
bool blis_cluster_gateway_saturation(blis_cluster *cluster, double *value);

#endif
