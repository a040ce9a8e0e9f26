/*
 * step_history.h - the inter-token latency of every recent step.
 *
 * The fast engine adds the samples of all decodes to a histogram as it goes.
 * When a request turns out not to complete (preemption, timeout, end of the
 * run), its samples are taken out again: this is where their values are.
 * Covers the steps from the oldest decode of the batch on; the owner forgets
 * older ones when room is needed.
 */
#ifndef BLIS_INSTANCE_STEP_HISTORY_H
#define BLIS_INSTANCE_STEP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/invariant.h"

typedef struct step_history {
  int64_t *values;    /* of step s at s modulo capacity */
  size_t capacity;    /* a power of two, or 0 */
  int64_t first_step; /* oldest step that is kept */
  int64_t next_step;
} step_history;

/* How many steps can be added before it has to forget or to grow. */
static inline size_t blis__step_history_room(const step_history *history) {
  return history->capacity - (size_t)(history->next_step - history->first_step);
}

/* Steps before first_step will not be asked for any more. */
void blis__step_history_forget(step_history *history, int64_t first_step);

/* Doubles the room. */
BLIS_MUSTUSE blis_status blis__step_history_grow(const blis_alloc *alloc,
                                                 step_history *history);

/* Adds the values of n steps from next_step on; there is room. */
static inline void blis__step_history_add(step_history *history,
                                          const int64_t *values, size_t n) {
  BLIS_ASSERT(blis__step_history_room(history) >= n);
  size_t start = (size_t)history->next_step & (history->capacity - 1);
  size_t until_end = history->capacity - start;
  size_t first = n < until_end ? n : until_end;
  memcpy(&history->values[start], values, first * sizeof *values);
  memcpy(history->values, values + first, (n - first) * sizeof *values);
  history->next_step += (int64_t)n;
}

static inline int64_t blis__step_history_at(const step_history *history,
                                            int64_t step) {
  BLIS_ASSERT(step >= history->first_step && step < history->next_step);
  return history->values[(size_t)step & (history->capacity - 1)];
}

void blis__step_history_deinit(const blis_alloc *alloc, step_history *history);

#endif
