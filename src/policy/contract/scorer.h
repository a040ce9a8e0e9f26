/*
 * scorer.h - rates every candidate for one request, 0 (worst) to 1 (best).
 *
 * Scorers are combined by the weighted router (policy/pipeline/weighted.h),
 * which clamps their values and refuses a NaN. Built-in scorers and Lua
 * functions stand behind the same interface.
 */
#ifndef BLIS_POLICY_CONTRACT_SCORER_H
#define BLIS_POLICY_CONTRACT_SCORER_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis_scorer_ops {
  /* Writes scores[0 .. view->count). */
  blis_status (*score)(const blis_question *q, double *scores);
  /* After every decision, for scorers with a memory; NULL when not wanted. */
  blis_status (*observe)(const blis_question *q, size_t chosen);
  /*
   * Leading prompt tokens that it took to be cached at a candidate scored last;
   * NULL when its scores do not say.
   */
  int64_t (*believed_tokens)(const void *state, const blis_routing_view *view,
                             size_t candidate);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_scorer_ops;

typedef struct blis_scorer {
  const blis_scorer_ops *ops;
  void *state;
  size_t state_size; /* freed after ops->free; 0 = that does it */
  blis_alloc alloc;
  blis_signal_set needs; /* columns it reads; more by view->column */
  const char *name;      /* static, or owned by state */
} blis_scorer;

/* Idempotent; an all-zero scorer is allowed. */
void blis_scorer_free(blis_scorer *scorer);

#endif
