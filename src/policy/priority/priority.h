/*
 * priority.h - the priority of a request, set once on arrival, for schedulers and
 * preemption by priority.
 *
 * A priority is a number, and higher is more urgent. Orders by time do not change,
 * since all requests age alike, so they are computed on arrival.
 */
#ifndef BLIS_POLICY_PRIORITY_PRIORITY_H
#define BLIS_POLICY_PRIORITY_PRIORITY_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis_priority_ops {
  /* As blis_cluster_config.priority, with state as ud. */
  blis_status (*decide)(void *state, const blis_routing_request *request, int64_t now_us,
                        double *priority, blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_priority_ops;

typedef struct blis_priority {
  const blis_priority_ops *ops; /* NULL = the priority of the SLO class */
  void *state;
  size_t state_size; /* freed after ops->free; 0 = that does it */
  blis_alloc alloc;
  const char *name; /* static */
} blis_priority;

/* Idempotent; an all-zero policy is allowed. */
void blis_priority_free(blis_priority *priority);

#endif
