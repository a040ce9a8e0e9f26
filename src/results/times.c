#include "results/times.h"

static int64_t time_of(const blis_record *record, blis__time_kind kind) {
  switch (kind) {
  case BLIS__TTFT:
    return record->ttft_us;
  case BLIS__E2E:
    return record->e2e_us;
  case BLIS__SCHEDULING_DELAY:
    return record->scheduling_delay_us;
  case BLIS__MEAN_ITL:
    break;
  }
  return -1;
}

static void add_record(blis_value_set *set, const blis_record *record,
                       blis__time_kind kind) {
  if (kind == BLIS__MEAN_ITL) {
    if (blis_record_is_completed(record) && record->itl_count > 0) {
      blis_value_set_add_double(set, (double)record->itl_sum_us /
                                         (double)record->itl_count);
    }
    return;
  }
  int64_t time_us = time_of(record, kind);
  if (time_us >= 0) {
    blis_value_set_add(set, time_us);
  }
}

blis_status blis__times_of(blis_percentiles *result, const blis_alloc *alloc,
                           const blis__selection *selection,
                           blis__time_kind kind) {
  blis_value_set set;
  BLIS_TRY(blis_value_set_init(&set, alloc, selection->count,
                               kind == BLIS__MEAN_ITL));
  for (size_t i = 0; i < selection->count; i++) {
    add_record(&set, blis__selected(selection, i), kind);
  }
  blis_status status = blis_percentiles_of_set(result, &set, alloc);
  blis_value_set_deinit(&set, alloc);
  return status;
}
