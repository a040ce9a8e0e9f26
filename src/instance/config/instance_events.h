/* instance_events.h - callbacks of an instance for changes to its requests, adapters, and steps. */
#ifndef BLIS_INSTANCE_CONFIG_INSTANCE_EVENTS_H
#define BLIS_INSTANCE_CONFIG_INSTANCE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/histogram.h"
#include "base/error.h"
#include "instance/config/step_report.h"
#include "instance/request/live_request.h"

/* A completed load of an adapter. */
typedef struct blis_adapter_load {
  uint32_t adapter; /* number in the configuration, from 1 */
  int64_t rank;
  blis_request_name request; /* the request that started the load */
  int64_t start_us;
  int64_t end_us;
  int64_t waiting; /* number of waiting requests with this adapter when the load ends */
} blis_adapter_load;

/* A step that computes prompt tokens [from_tokens, to_tokens) of a request. */
typedef struct blis_prefill_step {
  int64_t start_us;
  int64_t end_us;
  int64_t from_tokens; /* in the first step: the number of cached tokens */
  int64_t to_tokens;
} blis_prefill_step;

/*
 * Callbacks of the instance to its owner. Every pointer except ended may be NULL. They are called
 * inside blis_instance_run_next. They may inject requests into other instances but must not access
 * this one.
 */
typedef struct blis_instance_events {
  void *ud;
  /* Called when request has entered the wait queue. */
  void (*queued)(void *ud, blis_live_request *request, int64_t now_us);
  /* Called whenever a first token is recorded. Without rules.resumes_preempted, this happens again
     after a preemption. */
  void (*first_token)(void *ud, blis_live_request *request, int64_t now_us);
  /*
   * preempted: request has moved from the batch back to the wait queue. readmitted: it is in the
   * batch again, or for the first time with KV from elsewhere. recomputed: its lost KV will be
   * complete at end_us, when its step ends. Without rules.resumes_preempted, the prompt is computed
   * again from the start, and first_token reports its end.
   */
  void (*preempted)(void *ud, blis_live_request *request, int64_t now_us);
  void (*readmitted)(void *ud, blis_live_request *request, int64_t now_us);
  void (*recomputed)(void *ud, blis_live_request *request, int64_t end_us);
  /* Called when a load ends. A load that is lost with its instance is not reported. */
  void (*adapter_loaded)(void *ud, const blis_adapter_load *load);
  /*
   * Only the stepwise engine calls these, because it computes tokens one by one. token reports an
   * output token by its number, from 1; counting restarts at 1 if a preemption restarts the
   * request. batch reports a new batch of count requests. step reports a step once its duration is
   * set; steps that compute nothing are not reported.
   */
  blis_status (*token)(void *ud, const blis_live_request *request, int64_t number,
                       blis_error *error);
  blis_status (*batch)(void *ud, int64_t count, blis_error *error);
  blis_status (*step)(void *ud, const blis_step_report *report, blis_error *error);
  /* Called when a step of a request with holds_kv begins; NULL = not needed. */
  blis_status (*computing)(void *ud, blis_live_request *request, const blis_prefill_step *step,
                           blis_error *error);
  /*
   * Called when request is completed and its state and times are set. ended() follows with the same
   * end_us. Setting *counts_itl to false excludes its inter-token latencies from itl_us, as if it
   * had not been completed.
   */
  blis_status (*completed)(void *ud, const blis_live_request *request, int64_t end_us,
                           bool *counts_itl, blis_error *error);
  /*
   * Called when request has reached its final state (completed, length-capped, timed out,
   * unservable, or rejected; see its member rejection). It belongs to the owner again. end_us is
   * the time at which it leaves. For a completed request, this is the end of its last step or, with
   * rules.leaves_at_step_end, the time at which its client receives the last token. For other
   * requests, it is now_us.
   */
  blis_status (*ended)(void *ud, blis_live_request *request, int64_t now_us, int64_t end_us,
                       blis_error *error);
  /*
   * Receives the inter-token latencies of completed requests; borrowed. Exact only after
   * blis_instance_close.
   */
  blis_histogram *itl_us;
} blis_instance_events;

#endif
