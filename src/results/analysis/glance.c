#include "results/analysis/glance.h"

void blis_glance_init(blis_glance *glance, const blis_alloc *alloc) {
  *glance = (blis_glance){0};
  blis_sketch_init(&glance->ttft_us, alloc);
  blis_sketch_init(&glance->e2e_us, alloc);
  blis_sketch_init(&glance->itl_us, alloc);
}

void blis_glance_deinit(blis_glance *glance) {
  blis_sketch_deinit(&glance->ttft_us);
  blis_sketch_deinit(&glance->e2e_us);
  blis_sketch_deinit(&glance->itl_us);
}

static blis_status take(blis_glance *glance, const blis_record *record) {
  if (record->ttft_us >= 0) {
    BLIS_TRY(blis_sketch_add(&glance->ttft_us, record->ttft_us));
  }
  if (!blis_record_is_completed(record)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_sketch_add(&glance->e2e_us, record->e2e_us));
  return record->itl_count == 0
             ? BLIS_OK
             : blis_sketch_add(&glance->itl_us, record->itl_sum_us / record->itl_count);
}

static blis_status take_new(blis_glance *glance, const blis_recorder *recorder) {
  size_t count = blis_recorder_count(recorder);
  size_t first = glance->seen;
  size_t step = 1 + (count - first) / BLIS_GLANCE_SAMPLE;
  glance->seen = count;
  for (size_t i = first; i < count; i += step) {
    blis_record record = blis_recorder_record(recorder, i);
    BLIS_TRY(take(glance, &record));
  }
  return BLIS_OK;
}

blis_status blis_glance_look(blis_glance *glance, const blis_recorder *recorder,
                             blis_glance_times *times) {
  if (!blis_recorder_keeps_records(recorder)) {
    const blis_tally *tally = blis_recorder_tally(recorder);
    *times = (blis_glance_times){&tally->ttft_us, &tally->e2e_us, NULL};
    return BLIS_OK;
  }
  *times = (blis_glance_times){&glance->ttft_us, &glance->e2e_us, &glance->itl_us};
  return take_new(glance, recorder);
}
