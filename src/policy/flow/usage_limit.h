/*
 * usage_limit.h - a ceiling for each band of a gateway queue: how full the instances may be while
 * the band is dispatched.
 *
 * Built-in policies and Lua functions have the same interface.
 */
#ifndef BLIS_POLICY_FLOW_USAGE_LIMIT_H
#define BLIS_POLICY_FLOW_USAGE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct blis_usage_limit_ops {
  /*
   * Computes the ceilings of all bands, including empty bands. priorities contains their
   * priorities, highest first. A band is open while saturation < its ceiling. BLIS_ERR_POLICY (or
   * NOMEM) stops the run with *error.
   */
  blis_status (*ceilings)(void *state, double saturation, const int32_t *priorities, size_t count,
                          double *ceilings, blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
  bool is_pure; /* ceilings depend only on saturation and priorities */
} blis_usage_limit_ops;

typedef struct blis_usage_limit {
  const blis_usage_limit_ops *ops; /* NULL = 1 for all */
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  const char *name; /* static or owned by state */
} blis_usage_limit;

/* Idempotent; an all-zero policy is allowed. */
void blis_usage_limit_free(blis_usage_limit *limit);

#endif
