/*
 * decider.h - whether the prompt of a request is computed by an instance of its
 * own, and its KV then moved to the one that decodes.
 *
 * It is asked when the instance that decodes has been chosen, which computes
 * the prompt as well if the answer is no.
 */
#ifndef BLIS_POLICY_DECIDER_DECIDER_H
#define BLIS_POLICY_DECIDER_DECIDER_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis_split {
  bool splits;
  /* Instances that the policy has chosen itself; -1 = the router of the stage
     does. The same one for both is no split. */
  int64_t prefill;
  int64_t decode;
} blis_split;

typedef struct blis_decider_ops {
  /*
   * The view is that of the instances that decode; chosen is the candidate that
   * the router has taken. BLIS_ERR_POLICY (or NOMEM) stops the run.
   */
  blis_status (*decide)(const blis_question *q, size_t chosen, blis_split *split);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_decider_ops;

typedef struct blis_decider {
  const blis_decider_ops *ops; /* NULL: never */
  void *state;
  size_t state_size; /* freed after ops->free; 0 = that does it */
  blis_alloc alloc;
  blis_signal_set needs; /* columns it reads; more by view->column */
  bool is_blind;         /* it reads none: instances need not be up to date */
  const char *name;      /* static, or owned by state */
} blis_decider;

/* Idempotent; an all-zero policy is allowed. */
void blis_decider_free(blis_decider *decider);

#endif
