/* flow_hook.h - decisions of a gateway queue that are delegated: the next band, the next flow in
 * it, and the position of a request in its flow.
 *
 * Lua functions implement this interface. Built-in policies do not need it. */
#ifndef BLIS_POLICY_FLOW_FLOW_HOOK_H
#define BLIS_POLICY_FLOW_FLOW_HOOK_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

/* A band with requests. */
typedef struct blis_flow_band_seen {
  int32_t priority;
  int64_t waiting;
  int64_t longest_wait_us;
  double ceiling;           /* the band is open while saturation < ceiling */
  int64_t dispatched;       /* requests dispatched since the start of the run */
  double dispatched_tokens; /* prompt tokens dispatched since the start of the run */
} blis_flow_band_seen;

/* A tenant with requests in a band. */
typedef struct blis_flow_seen {
  const char *tenant; /* name of the tenant */
  int64_t waiting;
  int64_t head_wait_us;  /* waiting time of its next item */
  double service_tokens; /* attained service; see flow_service.h */
} blis_flow_seen;

/* The input of a decision; only the members of that decision are set. */
typedef struct blis_flow_question {
  int64_t now_us;
  double saturation;
  int32_t priority; /* priority of the band that contains the flows */
  const blis_flow_band_seen *bands;
  const blis_flow_seen *flows;
  size_t count;                        /* number of bands or flows */
  const blis_routing_request *request; /* the request to insert */
} blis_flow_question;

typedef struct blis_flow_hook {
  /* Returns the index of a band or flow (below 0 = no band), or the position of the request in
     its flow. Requests with smaller values come first; among equal values, the oldest request
     comes first. The value must not be NaN. BLIS_ERR_POLICY or BLIS_ERR_NOMEM stops the run with
     *error. NULL = no delegation. */
  blis_status (*ask)(void *state, const blis_flow_question *question, double *answer,
                     blis_error *error);
  void *state;
  size_t state_size;
  blis_alloc alloc;
  const char *name; /* owned by state */
} blis_flow_hook;

/* Idempotent; an all-zero hook is allowed. */
static inline void blis_flow_hook_free(blis_flow_hook *hook) {
  if (hook->state != NULL) {
    blis_alloc_free(&hook->alloc, hook->state, hook->state_size);
  }
  *hook = (blis_flow_hook){0};
}

#endif
