/*
 * gateway.h - a queue between admission and routing: its options and counters.
 *
 * Admitted requests wait in bands of equal priority (the value of their SLO class) and are
 * dispatched one by one while a detector reports that the instances have capacity (policy/flow).
 * Bands are tried in order of descending priority. The first closed band ends the dispatch attempt.
 * Sources: llm-d-router ebab6879, flow control; BLIS (Go, inference-sim f90a1e3a), --flow-control.
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

/* When requests may be dispatched. */
typedef enum blis_gateway_dispatch {
  /*
   * llm-d: one request at each arrival, and one at each multiple of cycle_us;
   * arrivals in the same microsecond share a cycle.
   */
  BLIS_GATEWAY_CYCLE,
  /* BLIS (Go): one request at each arrival, and one cycle_us after each dispatch attempt. */
  BLIS_GATEWAY_TICK,
  /*
   * Ideal: dispatches as many requests as possible at each arrival and 1 us after any activity of
   * an instance, using the current state of the instances. The detector and the usage limit must
   * have no side effects, and no request is evicted.
   */
  BLIS_GATEWAY_EVENT
} blis_gateway_dispatch;

/* The order of requests in a flow. */
typedef enum blis_gateway_order {
  BLIS_GATEWAY_FIFO,
  BLIS_GATEWAY_DEADLINE,        /* by arrival + target TTFT */
  BLIS_GATEWAY_DEADLINE_INSIDE, /* BLIS (Go): by enqueue time + target TTFT */
  /* By enqueue time + maximum wait; requests without a maximum are last. */
  BLIS_GATEWAY_EDF,
  BLIS_GATEWAY_SCRIPTED /* defined by order_hook */
} blis_gateway_order;

/* Whether requests with a negative priority may be evicted from their instances. */
typedef enum blis_gateway_eviction {
  BLIS_GATEWAY_SPARES,
  /* BLIS (Go): one request per dispatch attempt while saturation >= 1. */
  BLIS_GATEWAY_EVICTS_ONE,
  /*
   * llm-d: as many requests as needed to open a band, but at most two, with lower priorities than
   * the band. The next evictions follow at least 500 ms later.
   */
  BLIS_GATEWAY_EVICTS_SOME
} blis_gateway_eviction;

/* Target TTFT of requests that have no target of their own. */
typedef struct blis_gateway_target {
  const char *slo_class;
  int64_t target_us;
} blis_gateway_target;

typedef struct blis_gateway {
  blis_saturation saturation;   /* ops NULL = never saturated */
  blis_usage_limit usage_limit; /* ops NULL = 1 for all */
  blis_gateway_dispatch dispatch;
  int64_t cycle_us;        /* > 0 */
  blis_flow_limits limits; /* copied */
  blis_flow_fairness fairness;
  blis_flow_service_rules service; /* for least-service */
  blis_gateway_order order;
  const blis_gateway_target *targets; /* copied */
  size_t target_count;
  blis_gateway_eviction eviction;
  /*
   * Maximum wait of a request while there are instances, and while there are none. Each is counted
   * from the enqueue time or the last change between the two situations. The larger value also
   * limits the total wait. 0 = no limit.
   */
  int64_t ttl_us;
  int64_t empty_ttl_us;
  int64_t sweep_us; /* expired requests are removed at multiples of this time; > 0 */
  /* A band is deleted after it has been empty for this time; 0 = never. */
  int64_t forget_bands_us;
  /* With disaggregation, use the maximum of the saturations of prefill and decode. */
  bool by_stage;
  blis_flow_hook order_hook; /* for BLIS_GATEWAY_SCRIPTED */
  blis_flow_hook flow_hook;  /* for BLIS_FLOW_CHOSEN, if there are several flows */
  /* Selects the next band with requests, instead of the band with the highest priority. If the
     selected band is closed, no request is dispatched. */
  blis_flow_hook band_hook;
} blis_gateway;

/* Frees the data of the policies; idempotent. */
void blis_gateway_free(blis_gateway *gateway);

/* Reasons of requests that end in the gateway. Evicted requests fail; all others are rejected. */
#define BLIS_GATEWAY_FULL "rejected-saturated"           /* 429 */
#define BLIS_GATEWAY_NO_INSTANCE "rejected-no-endpoints" /* 503 */
#define BLIS_GATEWAY_EXPIRED "rejected-ttl-expired"      /* 429 */
#define BLIS_GATEWAY_SHED "gateway-shed"                 /* 429 */
#define BLIS_GATEWAY_EVICTED "gateway-evicted"           /* 429; failed */

typedef struct blis_gateway_counts {
  int64_t enqueued; /* = dispatched + shed + expired + waiting */
  int64_t dispatched;
  int64_t rejected; /* rejected because the queue was full */
  int64_t shed;     /* removed in favor of a request with a higher priority */
  int64_t expired;
  int64_t without_instances; /* subset of rejected and expired: there were no instances */
  int64_t evicted;           /* evicted from instances */
  int64_t waiting;
  int64_t peak;      /* maximum number of waiting requests */
  double wait_us;    /* total wait of dispatched requests */
  int64_t tries;     /* dispatch attempts */
  double saturation; /* at the last dispatch attempt */
} blis_gateway_counts;

/* Counters of one band from the start, including deleted bands. */
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
  double dispatched_tokens; /* prompt tokens of dispatched requests */
} blis_gateway_band_counts;

/*
 * Returns the HTTP status of llm-d's gateway for these reasons. If routing has no candidates, the
 * status is 503 without instances and 429 if all instances were filtered out. Requests rejected by
 * its admission (legacy or plugin) get 429. 0 for all other reasons.
 */
int blis_gateway_status_code(const char *reason);

/*
 * Adds a queue in which admitted requests wait until they may be routed. Takes ownership of the
 * policies of *gateway, even on failure. Call it at most once, before the first event.
 * BLIS_ERR_INVALID names the value that is out of range.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_gateway(blis_cluster *cluster, blis_gateway *gateway,
                                                  blis_error *error);

/* Stores the counters; all zero without a queue. */
void blis_cluster_get_gateway(const blis_cluster *cluster, blis_gateway_counts *counts);

/* The bands, highest priority first, and the waits of dispatched requests. The sketches are NULL
   without a queue. */
size_t blis_cluster_gateway_band_count(const blis_cluster *cluster);
blis_gateway_band_counts blis_cluster_gateway_band(const blis_cluster *cluster, size_t index);
const blis_sketch *blis_cluster_gateway_waits(const blis_cluster *cluster);
const blis_sketch *blis_cluster_gateway_band_waits(const blis_cluster *cluster, size_t index);

/*
 * Stores the saturation of the instances according to the gateway's detector. The value is current,
 * or from the last evaluation if the detector is scripted or stateful. Returns false without a
 * gateway queue.
 */
bool blis_cluster_gateway_saturation(blis_cluster *cluster, double *value);

#endif
