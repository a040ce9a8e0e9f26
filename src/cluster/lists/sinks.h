/*
 * sinks.h - receivers of finished requests, observer events, and loads of a cluster, for the core
 * and the features.
 */
#ifndef BLIS_CLUSTER_LISTS_SINKS_H
#define BLIS_CLUSTER_LISTS_SINKS_H

#include <stdint.h>

#include "base/error.h"
#include "cluster/lists/request_end.h"
#include "instance/instance.h"
#include "policy/contract/view.h"

/* Receives finished requests. */
typedef struct blis_request_sink {
  blis_status (*ended)(void *ud, const blis_request_end *end, blis_error *error);
  /*
   * Called at the end of each attempt of a cascade. The last attempt is reported before ended().
   * request->model is the requested model. NULL = not needed.
   */
  blis_status (*attempted)(void *ud, const blis_request *request,
                           const blis_cascade_attempt *attempt, blis_cascade_verdict verdict,
                           blis_error *error);
  void *ud;
} blis_request_sink;

/*
 * Observes requests without changing anything. Every function may be NULL. A failure stops the run.
 * Requests are passed without prompt (chain = NULL) and ticket. All effects of a step occur at its
 * start, so first tokens and ends are reported at that time.
 *
 * With first_token or ended, instances do not run ahead of each other. Events are then reported in
 * time order, and the run is slower.
 */
typedef struct blis_observer {
  void *ud;
  blis_status (*arrived)(void *ud, const blis_routing_request *request, int64_t now_us,
                         blis_error *error);
  /* Called before the instance receives the request. */
  blis_status (*routed)(void *ud, const blis_routing_request *request, uint32_t instance,
                        int64_t now_us, blis_error *error);
  /* Called again after a preemption. */
  blis_status (*first_token)(void *ud, const blis_routing_request *request, uint32_t instance,
                             int64_t ttft_us, int64_t now_us, blis_error *error);
  /* Called before another model is tried. request still has the previous model. */
  blis_status (*escalated)(void *ud, const blis_routing_request *request,
                           const blis_cascade_attempt *attempt, int64_t now_us, blis_error *error);
  /* Called after the sink. Not called for requests that are unfinished at the end of the run. */
  blis_status (*ended)(void *ud, const blis_routing_request *request, const blis_request_end *end,
                       int64_t now_us, blis_error *error);
} blis_observer;

struct blis_kv_move;

/*
 * Receives loads of adapters and of KV, in the order of their ends on each instance and in the
 * tiers. Loads that are part of a step are reported at its start. Loads that would have ended after
 * at_us are lost with their instance.
 */
typedef struct blis_load_sink {
  void *ud;
  blis_status (*adapter)(void *ud, uint32_t instance, const blis_adapter_load *load,
                         blis_error *error);
  void (*lost)(void *ud, uint32_t instance, int64_t at_us);
  blis_status (*moved)(void *ud, const struct blis_kv_move *move, blis_error *error);
} blis_load_sink;

#endif
