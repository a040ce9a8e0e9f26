/*
 * filter.h - narrows the candidates of one request: the first stage of the pipeline
 * filters -> scorers -> picker.
 *
 * The weighted router (policy/pipeline/weighted.h) applies the filters in order,
 * each to the candidates left by the previous filter. If no candidate is left, the
 * request is rejected, reason no-candidate. Built-in filters and Lua functions have
 * the same interface.
 */
#ifndef BLIS_POLICY_CONTRACT_FILTER_H
#define BLIS_POLICY_CONTRACT_FILTER_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis_filter_ops {
  /*
   * keep[0 .. view->count) are true; the filter sets removed candidates to false.
   * The view has one candidate or more.
   */
  blis_status (*filter)(const blis_question *q, bool *keep);
  /*
   * Called after every decision, for filters with a memory; NULL if not needed. The view contains
   * the candidates that all filters kept.
   */
  blis_status (*observe)(const blis_question *q, size_t chosen);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_filter_ops;

typedef struct blis_filter {
  const blis_filter_ops *ops;
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_signal_set needs; /* columns that it reads; view->column can add others */
  const char *name;      /* static or owned by state */
} blis_filter;

/* Idempotent; an all-zero filter is allowed. */
void blis_filter_free(blis_filter *filter);

#endif
