#include "instance/step_history.h"

enum { FIRST_CAPACITY = 64 };

void blis__step_history_forget(step_history *history, int64_t first_step) {
  if (first_step > history->first_step) {
    history->first_step =
        first_step < history->next_step ? first_step : history->next_step;
  }
}

blis_status blis__step_history_grow(const blis_alloc *alloc,
                                    step_history *history) {
  size_t capacity =
      history->capacity == 0 ? FIRST_CAPACITY : 2 * history->capacity;
  int64_t *values = blis_alloc_zeroed(alloc, capacity, sizeof *values);
  if (values == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (int64_t s = history->first_step; s < history->next_step; s++) {
    values[(size_t)s & (capacity - 1)] = blis__step_history_at(history, s);
  }
  blis__step_history_deinit(alloc, history);
  history->values = values;
  history->capacity = capacity;
  return BLIS_OK;
}

void blis__step_history_deinit(const blis_alloc *alloc, step_history *history) {
  blis_alloc_free(alloc, history->values,
                  history->capacity * sizeof *history->values);
  history->values = NULL;
  history->capacity = 0;
}
