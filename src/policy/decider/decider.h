/*
 * decider.h - decides whether a separate instance computes the prompt of a request
 * and then transfers the KV to the decode instance.
 *
 * The decider is called after the decode instance has been chosen. If it decides against a split,
 * the decode instance also computes the prompt.
 */
#ifndef BLIS_POLICY_DECIDER_DECIDER_H
#define BLIS_POLICY_DECIDER_DECIDER_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis_split {
  bool splits;
  /* Instances that the policy chooses itself; -1 = the router of the stage chooses. If both are
     the same instance, the request is not split. */
  int64_t prefill;
  int64_t decode;
} blis_split;

typedef struct blis_decider_ops {
  /*
   * The view contains the decode instances; chosen is the router's candidate. BLIS_ERR_POLICY or
   * BLIS_ERR_NOMEM stops the run.
   */
  blis_status (*decide)(const blis_question *q, size_t chosen, blis_split *split);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_decider_ops;

typedef struct blis_decider {
  const blis_decider_ops *ops; /* NULL: requests are never split */
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_signal_set needs; /* columns that it reads; view->column can add others */
  bool is_blind;         /* it reads no columns, so instances need not be up to date */
  const char *name;      /* static or owned by state */
} blis_decider;

/* Idempotent; an all-zero policy is allowed. */
void blis_decider_free(blis_decider *decider);

#endif
