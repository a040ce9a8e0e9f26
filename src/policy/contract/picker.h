/*
 * picker.h - selects one candidate by its score: the last stage of the pipeline filters -> scorers
 * -> picker.
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
   * Sets *chosen < view->count, based on scores[0 .. view->count), which contain no NaN. The view
   * has at least one candidate.
   */
  blis_status (*pick)(const blis_question *q, const double *scores, size_t *chosen);
  /*
   * Returns the tie rule of a picker that always takes the highest score, and NULL for other
   * pickers. The function itself may be NULL.
   */
  blis_tie *(*tie)(void *state);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_picker_ops;

typedef struct blis_picker {
  const blis_picker_ops *ops;
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_signal_set needs; /* columns that it reads; view->column can add others */
  const char *name;      /* static or owned by state */
} blis_picker;

/* Idempotent; an all-zero picker is allowed. */
void blis_picker_free(blis_picker *picker);

#endif
