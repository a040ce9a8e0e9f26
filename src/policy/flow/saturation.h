/* saturation.h - saturation of a set of instances, for flow control: 1 = full.
 *
 * Built-in detectors and Lua functions implement the same interface. The caller must reject
 * values that are not finite. */
#ifndef BLIS_POLICY_FLOW_SATURATION_H
#define BLIS_POLICY_FLOW_SATURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/signals.h"

/* Monitoring data of the instances that could receive a request. */
typedef struct blis_saturation_look {
  int64_t now_us;
  size_t count;
  const double *queue_depth;
  const double *kv_utilization;
  const double *in_flight;        /* requests */
  const double *in_flight_tokens; /* NULL if not counted */
  const double *age_us;           /* age of the sample; NULL = all samples are current */
} blis_saturation_look;

typedef struct blis_saturation_ops {
  /* BLIS_ERR_POLICY or BLIS_ERR_NOMEM stops the run with *error. */
  blis_status (*value)(void *state, const blis_saturation_look *look, double *saturation,
                       blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
  bool is_pure; /* the result depends only on blis_saturation_look */
} blis_saturation_ops;

typedef struct blis_saturation {
  const blis_saturation_ops *ops; /* NULL = never full */
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_signal_set needs; /* columns that it reads */
  const char *name;      /* static or owned by state */
} blis_saturation;

/* Idempotent; an all-zero detector is allowed. */
void blis_saturation_free(blis_saturation *saturation);

#endif
