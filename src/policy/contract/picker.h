/*
 * picker.h - from scores to one candidate: the last stage of the pipeline filters
 * -> scorers -> picker.
 *
 * Built-in pickers (policy/pickers/pickers.c) and Lua functions have the same
 * interface.
 */
#ifndef BLIS_POLICY_CONTRACT_PICKER_H
#define BLIS_POLICY_CONTRACT_PICKER_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/tie.h"
#include "policy/contract/view.h"

typedef struct blis_picker_ops {
  /*
   * *chosen < view->count, by scores[0 .. view->count), which contain no NaN. The
   * view has one candidate or more.
   */
  blis_status (*pick)(const blis_question *q, const double *scores, size_t *chosen);
  /*
   * The tie rule of a picker that only takes the highest score; NULL for other
   * pickers (the function may also be NULL).
   */
  blis_tie *(*tie)(void *state);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_picker_ops;

typedef struct blis_picker {
  const blis_picker_ops *ops;
  void *state;
  size_t state_size; /* freed after ops->free; 0 = that does it */
  blis_alloc alloc;
  blis_signal_set needs; /* columns it reads; more by view->column */
  const char *name;      /* static, or owned by state */
} blis_picker;

/* Idempotent; an all-zero picker is allowed. */
void blis_picker_free(blis_picker *picker);

#endif
