/*
 * priority.h - the priority of a request, set once on arrival, for schedulers and
 * preemption by priority.
 *
 * A priority is a number, and higher is more urgent. Priorities that depend on age are also
 * computed on arrival: all requests age at the same rate, so their order does not change.
 */
#ifndef BLIS_POLICY_PRIORITY_PRIORITY_H
#define BLIS_POLICY_PRIORITY_PRIORITY_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis_priority_ops {
  /* Same contract as blis_cluster_config.priority, with state as ud. */
  blis_status (*decide)(void *state, const blis_routing_request *request, int64_t now_us,
                        double *priority, blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_priority_ops;

typedef struct blis_priority {
  const blis_priority_ops *ops; /* NULL = the priority of the SLO class */
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  const char *name; /* static */
} blis_priority;

/* Idempotent; an all-zero policy is allowed. */
void blis_priority_free(blis_priority *priority);

#endif
