#include "instance/fast/step_history.h"

enum { FIRST_CAPACITY = 64 };

static int64_t *change_at(const step_history *history, int64_t step) {
  return &history->changes[(size_t)step & (history->capacity - 1)];
}

void blis__step_history_settle(step_history *history, int64_t end, blis_histogram *histogram) {
  BLIS_ASSERT(end <= history->next_step);
  if (!blis__step_history_is_changed(history)) {
    return;
  }
  int64_t samples = 0;
  for (int64_t step = history->first_step; step < end; step++) {
    samples += *change_at(history, step);
    *change_at(history, step) = 0;
    BLIS_ASSERT(samples >= 0);
    if (samples > 0) {
      blis_histogram_remove(histogram, blis__step_history_at(history, step), (uint64_t)samples);
    }
  }
  if (samples > 0) {
    *change_at(history, end) += samples;
  }
}

void blis__step_history_forget(step_history *history, int64_t first_step,
                               blis_histogram *histogram) {
  if (first_step > history->next_step) {
    first_step = history->next_step;
  }
  if (first_step <= history->first_step) {
    return;
  }
  if (histogram != NULL) {
    blis__step_history_settle(history, first_step, histogram);
  }
  history->first_step = first_step;
}

/*
 * Copies the entries of steps first to end - 1 between arrays of two capacities.
 * Both are powers of two, so steps are contiguous in both arrays up to the next
 * multiple of the smaller capacity.
 */
static void copy_steps(int64_t *into, size_t into_capacity, const int64_t *from,
                       size_t from_capacity, step_range steps) {
  size_t place = (size_t)steps.first;
  size_t end = (size_t)steps.end;
  while (place < end) {
    size_t next = (place | (from_capacity - 1)) + 1;
    next = next < end ? next : end;
    memcpy(&into[place & (into_capacity - 1)], &from[place & (from_capacity - 1)],
           (next - place) * sizeof *into);
    place = next;
  }
}

static void copy(step_history *into, const step_history *from) {
  step_range steps = {from->first_step, from->next_step};
  into->first_step = from->first_step;
  into->next_step = from->next_step;
  into->changes_end = from->changes_end;
  copy_steps(into->values, into->capacity, from->values, from->capacity, steps);
  if (!blis__step_history_is_changed(from)) {
    return;
  }
  steps.end++; /* the entry of the next step is included */
  memset(into->changes, 0, into->capacity * sizeof *into->changes);
  copy_steps(into->changes, into->capacity, from->changes, from->capacity, steps);
}

blis_status blis__step_history_grow(const blis_alloc *alloc, step_history *history) {
  step_history larger = {.first_step = history->first_step,
                         .next_step = history->next_step,
                         .capacity =
                             history->capacity == 0 ? FIRST_CAPACITY : 2 * history->capacity};
  larger.values = blis_alloc_new(alloc, larger.capacity * sizeof *larger.values);
  larger.changes = blis_alloc_new(alloc, larger.capacity * sizeof *larger.changes);
  if (larger.values == NULL || larger.changes == NULL) {
    blis__step_history_deinit(alloc, &larger);
    return BLIS_ERR_NOMEM;
  }
  if (history->capacity > 0) {
    copy(&larger, history);
  }
  blis__step_history_deinit(alloc, history);
  *history = larger;
  return BLIS_OK;
}

bool blis__step_history_check(const step_history *history) {
  int64_t samples = 0;
  if (!blis__step_history_is_changed(history)) {
    return true;
  }
  for (int64_t step = history->first_step; step < history->next_step; step++) {
    samples += *change_at(history, step);
    if (samples < 0) {
      return false;
    }
  }
  return samples + *change_at(history, history->next_step) == 0;
}

void blis__step_history_deinit(const blis_alloc *alloc, step_history *history) {
  blis_alloc_free(alloc, history->values, history->capacity * sizeof *history->values);
  blis_alloc_free(alloc, history->changes, history->capacity * sizeof *history->changes);
  history->values = NULL;
  history->changes = NULL;
  history->capacity = 0;
}
