#include "results/times.h"

/* A time of a record; below 0 = it has none. */
typedef int64_t time_fn(const blis_record *record);

static int64_t ttft_us(const blis_record *record) {
  return record->ttft_us;
}

static int64_t e2e_us(const blis_record *record) {
  return record->e2e_us;
}

static int64_t scheduling_delay_us(const blis_record *record) {
  return record->scheduling_delay_us;
}

static blis_status fill(blis_percentiles *result, const blis_alloc *alloc,
                        const blis__selection *selection, time_fn *time_us) {
  blis_value_set set;
  BLIS_TRY(blis_value_set_init(&set, alloc, selection->count, false));
  for (size_t i = 0; i < selection->count; i++) {
    int64_t value_us = time_us(blis__selected(selection, i));
    if (value_us >= 0) {
      blis_value_set_add(&set, value_us);
    }
  }
  blis_status status = blis_percentiles_of_set(result, &set, alloc);
  blis_value_set_deinit(&set, alloc);
  return status;
}

/* Of the requests' own means. */
static blis_status fill_itl(blis_percentiles *result, const blis_alloc *alloc,
                            const blis__selection *selection) {
  blis_value_set set;
  BLIS_TRY(blis_value_set_init(&set, alloc, selection->count, true));
  for (size_t i = 0; i < selection->count; i++) {
    const blis_record *record = blis__selected(selection, i);
    if (blis_record_is_completed(record) && record->itl_count > 0) {
      blis_value_set_add_double(&set, (double)record->itl_sum_us /
                                          (double)record->itl_count);
    }
  }
  blis_status status = blis_percentiles_of_set(result, &set, alloc);
  blis_value_set_deinit(&set, alloc);
  return status;
}

blis_status blis__times_fill(blis_times *times, const blis_alloc *alloc,
                             const blis__selection *selection,
                             blis_histogram *itl_us) {
  BLIS_TRY(fill(&times->ttft, alloc, selection, ttft_us));
  BLIS_TRY(fill(&times->e2e, alloc, selection, e2e_us));
  BLIS_TRY(
      fill(&times->scheduling_delay, alloc, selection, scheduling_delay_us));
  if (itl_us == NULL) {
    return fill_itl(&times->itl, alloc, selection);
  }
  blis_percentiles_of_histogram(&times->itl, itl_us);
  return BLIS_OK;
}
