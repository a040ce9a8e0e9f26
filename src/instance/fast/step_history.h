/*
 * step_history.h - the inter-token latency of every recent step.
 *
 * The fast engine adds the samples of all decodes to a histogram during the run. If a request does
 * not complete (preemption, timeout, end of the run), its samples are removed again. The history
 * contains their values. A range of steps is removed in O(1): only its begin and end are recorded,
 * and the histogram changes once per step, when steps are forgotten or settled.
 *
 * The history covers the steps since the oldest decode of the batch began. The owner drops older
 * steps when space is needed.
 */
#ifndef BLIS_INSTANCE_FAST_STEP_HISTORY_H
#define BLIS_INSTANCE_FAST_STEP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/containers/histogram.h"
#include "base/error.h"
#include "base/invariant.h"

/* Steps first to end - 1. */
typedef struct step_range {
  int64_t first;
  int64_t end;
} step_range;

typedef struct step_history {
  int64_t *values; /* the value of step s is at index s modulo capacity */
  /* Entry s: number of additional samples to remove from step s compared with the previous step.
     The entry of next_step is included. Only meaningful if is_changed. */
  int64_t *changes;
  int64_t changes_end; /* steps from this one have no changes */
  size_t capacity;     /* a power of two, or 0 */
  int64_t first_step;  /* oldest stored step */
  int64_t next_step;
} step_history;

/* Returns whether samples must be removed; otherwise changes are undefined. */
static inline bool blis__step_history_is_changed(const step_history *history) {
  return history->changes_end > history->first_step;
}

/* Returns how many steps can be added before the history must forget steps or grow. */
static inline size_t blis__step_history_room(const step_history *history) {
  return history->capacity == 0
             ? 0
             : history->capacity - 1 - (size_t)(history->next_step - history->first_step);
}

/* Drops the steps before first_step, which are no longer needed. */
void blis__step_history_forget(step_history *history, int64_t first_step,
                               blis_histogram *histogram);

/* Doubles the capacity. */
BLIS_MUSTUSE blis_status blis__step_history_grow(const blis_alloc *alloc, step_history *history);

/* Adds the values of n steps starting at next_step; requires capacity. */
static inline void blis__step_history_add(step_history *history, const int64_t *values, size_t n) {
  BLIS_ASSERT(blis__step_history_room(history) >= n);
  size_t start = (size_t)history->next_step & (history->capacity - 1);
  size_t until_end = history->capacity - start;
  size_t first = n < until_end ? n : until_end;
  memcpy(&history->values[start], values, first * sizeof *values);
  if (first < n) {
    memcpy(history->values, values + first, (n - first) * sizeof *values);
  }
  history->next_step += (int64_t)n;
}

static inline int64_t blis__step_history_at(const step_history *history, int64_t step) {
  BLIS_ASSERT(step >= history->first_step && step < history->next_step);
  return history->values[(size_t)step & (history->capacity - 1)];
}

/* Schedules the removal of one sample of each step in range. All these steps must be stored. */
static inline void blis__step_history_withdraw(step_history *history, step_range range) {
  BLIS_ASSERT(range.first >= history->first_step && range.first < range.end &&
              range.end <= history->next_step);
  if (!blis__step_history_is_changed(history)) {
    memset(history->changes, 0, history->capacity * sizeof *history->changes);
  }
  if (range.end >= history->changes_end) {
    history->changes_end = range.end + 1;
  }
  history->changes[(size_t)range.first & (history->capacity - 1)]++;
  history->changes[(size_t)range.end & (history->capacity - 1)]--;
}

/* Removes the scheduled samples of steps before end from the histogram. */
void blis__step_history_settle(step_history *history, int64_t end, blis_histogram *histogram);

/* Returns whether no step removes more samples than it has and all ranges end. */
bool blis__step_history_check(const step_history *history);

void blis__step_history_deinit(const blis_alloc *alloc, step_history *history);

#endif
