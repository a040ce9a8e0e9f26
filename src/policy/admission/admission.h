/*
 * admission.h - the first decision about a request: admit it, reject it, or decide again later.
 *
 * Built-in policies and Lua functions have the same interface. The policy sees the
 * request and its candidates as routing would see them; there may be none.
 */
#ifndef BLIS_POLICY_ADMISSION_ADMISSION_H
#define BLIS_POLICY_ADMISSION_ADMISSION_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef enum blis_admission_verdict { BLIS_ADMIT, BLIS_REJECT, BLIS_DELAY } blis_admission_verdict;

typedef struct blis_admission_decision {
  blis_admission_verdict verdict;
  const char *reason; /* reason for a rejection or a delay (NULL = none); owned by the policy
                         until its next decision */
  int64_t delay_us;   /* > 0: decide again after this delay */
} blis_admission_decision;

typedef struct blis_admission_ops {
  /* BLIS_ERR_POLICY or BLIS_ERR_NOMEM stops the run with *error. */
  blis_status (*decide)(const blis_question *q, blis_admission_decision *decision);
  /*
   * An admitted request has ended for any reason; ticket is the request->ticket of
   * decide. Its client has the last token at end_us >= now_us. NULL if not needed.
   */
  void (*ended)(void *state, blis_ticket *ticket, int64_t now_us, int64_t end_us);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_admission_ops;

typedef struct blis_admission {
  const blis_admission_ops *ops; /* NULL admits everything at no cost */
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_signal_set needs; /* columns that it reads; view->column can add others */
  const char *name;      /* static or owned by state */
} blis_admission;

/* Idempotent; an all-zero policy is allowed. */
void blis_admission_free(blis_admission *admission);

#endif
