/*
 * instance_events.h - the functions that an instance calls when its requests, adapters, and steps
 * reach a new state.
 */
#ifndef BLIS_INSTANCE_CONFIG_INSTANCE_EVENTS_H
#define BLIS_INSTANCE_CONFIG_INSTANCE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/histogram.h"
#include "base/error.h"
#include "instance/config/step_report.h"
#include "instance/request/live_request.h"

/* A load of an adapter that has ended. */
typedef struct blis_adapter_load {
  uint32_t adapter; /* of the configuration, from 1 */
  int64_t rank;
  blis_request_name request; /* that it began for */
  int64_t start_us;
  int64_t end_us;
  int64_t waiting; /* requests that wait and have the adapter, as it ends */
} blis_adapter_load;

/* A step computes tokens of a prompt, from the first to before the second. */
typedef struct blis_prefill_step {
  int64_t start_us;
  int64_t end_us;
  int64_t from_tokens; /* at its admission: the cached tokens */
  int64_t to_tokens;
} blis_prefill_step;

/*
 * Callbacks of the instance to its owner. Every pointer except ended may be NULL.
 * Calls happen inside blis_instance_run_next; they may inject requests into other
 * instances but not touch this one.
 */
typedef struct blis_instance_events {
  void *ud;
  /* request entered the wait queue. */
  void (*queued)(void *ud, blis_live_request *request, int64_t now_us);
  /* Each time a first token is recorded: again after a preemption, unless
     rules.resumes_preempted. */
  void (*first_token)(void *ud, blis_live_request *request, int64_t now_us);
  /*
   * Report that request has left the batch for the wait queue (preempted), that it
   * is in the batch again, or for the first time with KV from elsewhere
   * (readmitted), and that its lost KV is computed at end_us, the end of its step
   * (recomputed). Without rules.resumes_preempted its prompt is computed as before,
   * which first_token reports.
   */
  void (*preempted)(void *ud, blis_live_request *request, int64_t now_us);
  void (*readmitted)(void *ud, blis_live_request *request, int64_t now_us);
  void (*recomputed)(void *ud, blis_live_request *request, int64_t end_us);
  /* A load that is lost with its instance is not reported. */
  void (*adapter_loaded)(void *ud, const blis_adapter_load *load);
  /*
   * Only the stepwise engine calls these, because it computes tokens one by one.
   * token reports the token with this number, from 1, counted since a preemption
   * that restarts the request. batch reports a new batch of count requests. step
   * reports a step whose duration is set, unless it computes nothing.
   */
  blis_status (*token)(void *ud, const blis_live_request *request, int64_t number,
                       blis_error *error);
  blis_status (*batch)(void *ud, int64_t count, blis_error *error);
  blis_status (*step)(void *ud, const blis_step_report *report, blis_error *error);
  /* A step of a request with holds_kv begins; NULL = not needed. */
  blis_status (*computing)(void *ud, blis_live_request *request, const blis_prefill_step *step,
                           blis_error *error);
  /*
   * request is completed, its state and times are set, and ended() follows
   * with the same end_us. *counts_itl = false keeps its inter-token latencies
   * out of itl_us, as if it had not been completed.
   */
  blis_status (*completed)(void *ud, const blis_live_request *request, int64_t end_us,
                           bool *counts_itl, blis_error *error);
  /*
   * request has reached its last state (completed, length-capped, timed out,
   * unservable, or rejected, see its member rejection). It belongs to the owner
   * again. end_us is when it leaves. For completed requests, this is the end of the
   * last step, or with rules.leaves_at_step_end the time when its client has the
   * last token. For other requests it is now.
   */
  blis_status (*ended)(void *ud, blis_live_request *request, int64_t now_us, int64_t end_us,
                       blis_error *error);
  /*
   * Inter-token latencies of completed requests are added here; borrowed.
   * Exact after blis_instance_close only.
   */
  blis_histogram *itl_us;
} blis_instance_events;

#endif
