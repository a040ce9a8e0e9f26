#include "instance/step_history.h"

enum { FIRST_CAPACITY = 64 };

static int64_t *change_at(const step_history *history, int64_t step) {
  return &history->changes[(size_t)step & (history->capacity - 1)];
}

void blis__step_history_settle(step_history *history, int64_t end,
                               blis_histogram *histogram) {
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
      blis_histogram_remove(histogram, blis__step_history_at(history, step),
                            (uint64_t)samples);
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

static void copy(step_history *into, const step_history *from) {
  size_t mask = into->capacity - 1;
  into->first_step = from->first_step;
  into->next_step = from->next_step;
  into->changes_end = from->changes_end;
  for (int64_t s = from->first_step; s < from->next_step; s++) {
    into->values[(size_t)s & mask] = blis__step_history_at(from, s);
  }
  if (!blis__step_history_is_changed(from)) {
    return;
  }
  memset(into->changes, 0, into->capacity * sizeof *into->changes);
  for (int64_t s = from->first_step; s <= from->next_step; s++) {
    into->changes[(size_t)s & mask] = *change_at(from, s);
  }
}

blis_status blis__step_history_grow(const blis_alloc *alloc,
                                    step_history *history) {
  step_history larger = {.first_step = history->first_step,
                         .next_step = history->next_step,
                         .capacity = history->capacity == 0
                                         ? FIRST_CAPACITY
                                         : 2 * history->capacity};
  larger.values =
      blis_alloc_new(alloc, larger.capacity * sizeof *larger.values);
  larger.changes =
      blis_alloc_new(alloc, larger.capacity * sizeof *larger.changes);
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
  blis_alloc_free(alloc, history->values,
                  history->capacity * sizeof *history->values);
  blis_alloc_free(alloc, history->changes,
                  history->capacity * sizeof *history->changes);
  history->values = NULL;
  history->changes = NULL;
  history->capacity = 0;
}
