/*
 * sinks.h - receivers of the events of a cluster: finished requests, events for
 * observers, and loads. One list for the core and the features.
 */
#ifndef BLIS_CLUSTER_LISTS_SINKS_H
#define BLIS_CLUSTER_LISTS_SINKS_H

#include <stdint.h>

#include "base/error.h"
#include "cluster/lists/request_end.h"
#include "instance/instance.h"
#include "policy/contract/view.h"

/* Where finished requests go. */
typedef struct blis_request_sink {
  blis_status (*ended)(void *ud, const blis_request_end *end, blis_error *error);
  /*
   * An attempt of a cascade is over; the last attempt is reported before ended().
   * request->model is the requested model. NULL = not needed.
   */
  blis_status (*attempted)(void *ud, const blis_request *request,
                           const blis_cascade_attempt *attempt, blis_cascade_verdict verdict,
                           blis_error *error);
  void *ud;
} blis_request_sink;

/*
 * An observer sees what happens to requests and changes nothing. Every function may
 * be NULL; a failure stops the run. The request is shown without prompt (chain =
 * NULL) and ticket. All effects of a step happen at its start, so first tokens and
 * ends are reported at that time.
 *
 * With first_token or ended, instances do not run ahead of each other: events are
 * reported in order of time, and the run is slower.
 */
typedef struct blis_observer {
  void *ud;
  blis_status (*arrived)(void *ud, const blis_routing_request *request, int64_t now_us,
                         blis_error *error);
  /* Before the instance has got it. */
  blis_status (*routed)(void *ud, const blis_routing_request *request, uint32_t instance,
                        int64_t now_us, blis_error *error);
  /* Again after a preemption. */
  blis_status (*first_token)(void *ud, const blis_routing_request *request, uint32_t instance,
                             int64_t ttft_us, int64_t now_us, blis_error *error);
  /* Called before another model is tried; the request has the previous model. */
  blis_status (*escalated)(void *ud, const blis_routing_request *request,
                           const blis_cascade_attempt *attempt, int64_t now_us, blis_error *error);
  /* After the sink; not called for requests that are unfinished at the end of the run. */
  blis_status (*ended)(void *ud, const blis_routing_request *request, const blis_request_end *end,
                       int64_t now_us, blis_error *error);
} blis_observer;

struct blis_kv_move;

/*
 * Receives loads of adapters and of KV, in the order of their ends at each instance
 * and in the tiers. Loads that are part of a step are reported when it begins;
 * loads that would have ended after at_us are lost with their instance.
 */
typedef struct blis_load_sink {
  void *ud;
  blis_status (*adapter)(void *ud, uint32_t instance, const blis_adapter_load *load,
                         blis_error *error);
  void (*lost)(void *ud, uint32_t instance, int64_t at_us);
  blis_status (*moved)(void *ud, const struct blis_kv_move *move, blis_error *error);
} blis_load_sink;

#endif
