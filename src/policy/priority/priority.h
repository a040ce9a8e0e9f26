/*
 * priority.h - how urgent a request is, asked once when it arrives, for
 * schedulers and preemption that go by priority.
 *
 * Scores of the design documents are higher for what is more urgent; the
 * priority of a request is lower for it (instance/slo_priority.h), a whole
 * number: minus a thousand times the score. Orders by time are the same
 * whenever they are looked at, since all requests age alike, so they are kept
 * as they are on arrival.
 */
#ifndef BLIS_POLICY_PRIORITY_PRIORITY_H
#define BLIS_POLICY_PRIORITY_PRIORITY_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/policy.h"
#include "policy/contract/view.h"

typedef struct blis_priority {
  /* As blis_cluster_config.priority, with state as ud. NULL = that of the SLO
   * class. */
  blis_status (*decide)(void *state, const blis_routing_request *request,
                        int64_t now_us, int32_t *priority, blis_error *error);
  void *state;
  blis_alloc alloc;
  void (*free)(const blis_alloc *alloc, void *state);
} blis_priority;

/* Idempotent; an all-zero policy is allowed. */
void blis_priority_free(blis_priority *priority);

typedef struct blis_priority_entry {
  const char *name;
  const char *aliases; /* "a|b"; "" = none */
  const char *summary;
  const char *source;
  const blis_param_spec *params;
  size_t param_count;
} blis_priority_entry;

/* The built-in policies; static storage. */
size_t blis_priority_entry_count(void);
const blis_priority_entry *blis_priority_entry_at(size_t index);

/* As blis_router_create. */
BLIS_MUSTUSE blis_status blis_priority_create(
    const blis_alloc *alloc, const char *name, const blis_params *params,
    const blis_policy_context *context, blis_priority *priority,
    blis_error *error);

#endif
