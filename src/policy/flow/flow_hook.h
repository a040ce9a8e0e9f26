/*
 * flow_hook.h - decisions of a gateway's queue that somebody else takes: which
 * band is next, which flow of it, and where in its flow a request goes.
 *
 * Lua functions stand behind it; the built-in ways need no hook.
 */
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
  double ceiling;           /* it is open while saturation < this */
  int64_t dispatched;       /* since the start of the run */
  double dispatched_tokens; /* the same, of prompts */
} blis_flow_band_seen;

/* A tenant with requests in a band. */
typedef struct blis_flow_seen {
  const char *tenant; /* name */
  int64_t waiting;
  int64_t head_wait_us;  /* of the one that would be next */
  double service_tokens; /* attained, flow_service.h */
} blis_flow_seen;

/* What is asked; only the members of that decision are set. */
typedef struct blis_flow_question {
  int64_t now_us;
  double saturation;
  int32_t priority; /* of the band whose flows these are */
  const blis_flow_band_seen *bands;
  const blis_flow_seen *flows;
  size_t count;                        /* of these */
  const blis_routing_request *request; /* that is to be put in order */
} blis_flow_question;

typedef struct blis_flow_hook {
  /*
   * The index of a band or flow, below 0 = none of the bands; or the place of
   * the request in its flow: the least goes first, then the oldest; not NaN.
   * BLIS_ERR_POLICY (or NOMEM) stops the run with *error. NULL = nobody is
   * asked.
   */
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
