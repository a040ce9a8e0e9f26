/*
 * saturation.h - how full a set of instances is, for who holds requests back:
 * 1 = full.
 *
 * Built-in detectors and Lua functions stand behind the same interface. A
 * value that is not finite is an error of whoever asked.
 */
#ifndef BLIS_POLICY_FLOW_SATURATION_H
#define BLIS_POLICY_FLOW_SATURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/signals.h"

/* What monitoring tells of the instances that could take a request. */
typedef struct blis_saturation_look {
  int64_t now_us;
  size_t count;
  const double *queue_depth;
  const double *kv_utilization;
  const double *in_flight;        /* requests */
  const double *in_flight_tokens; /* NULL where nobody counts them */
  const double *age_us;           /* of the sample; NULL = all are of now */
} blis_saturation_look;

typedef struct blis_saturation_ops {
  /* BLIS_ERR_POLICY (or NOMEM) stops the run with *error. */
  blis_status (*value)(void *state, const blis_saturation_look *look, double *saturation,
                       blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
  bool is_pure; /* what it says follows from the look alone */
} blis_saturation_ops;

typedef struct blis_saturation {
  const blis_saturation_ops *ops; /* NULL = never full */
  void *state;
  size_t state_size; /* freed after ops->free; 0 = that does it */
  blis_alloc alloc;
  blis_signal_set needs; /* columns it reads */
  const char *name;      /* static, or owned by state */
} blis_saturation;

/* Idempotent; an all-zero detector is allowed. */
void blis_saturation_free(blis_saturation *saturation);

#endif
