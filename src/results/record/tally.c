#include "results/record/tally.h"
#include "base/invariant.h"

void blis__tally_init(blis_tally *tally, const blis_alloc *alloc, bool has_sketches) {
  *tally = (blis_tally){.alloc = *alloc, .has_sketches = has_sketches};
  blis_sketch_init(&tally->ttft_us, alloc);
  blis_sketch_init(&tally->e2e_us, alloc);
  blis_sketch_init(&tally->scheduling_delay_us, alloc);
}

void blis__tally_deinit(blis_tally *tally) {
  blis_array_deinit(&tally->alloc, &tally->per_instance);
  blis_sketch_deinit(&tally->ttft_us);
  blis_sketch_deinit(&tally->e2e_us);
  blis_sketch_deinit(&tally->scheduling_delay_us);
}

void blis_state_counts_add(blis_state_counts *counts, blis_request_state state) {
  counts->arrived++;
  switch (state) {
#define XX(state, name, better, text)                                                              \
  case BLIS_REQUEST_##state:                                                                       \
    counts->name++;                                                                                \
    break;
    BLIS_REQUEST_STATE_MAP(XX)
#undef XX
  }
  if (state == BLIS_REQUEST_LENGTH_CAPPED) {
    counts->completed++;
  }
  BLIS_ASSERT(counts->length_capped <= counts->completed && counts->completed <= counts->arrived);
}

static blis_status count_instance(blis_tally *tally, size_t instance) {
  BLIS_TRY(blis_array_reserve(&tally->alloc, &tally->per_instance, instance + 1));
  while (tally->per_instance.count <= instance) {
    tally->per_instance.items[tally->per_instance.count++] = 0;
  }
  tally->per_instance.items[instance]++;
  return BLIS_OK;
}

static blis_status sketch_times(blis_tally *tally, const blis_record *record) {
  if (record->ttft_us >= 0) {
    BLIS_TRY(blis_sketch_add(&tally->ttft_us, record->ttft_us));
  }
  if (blis_record_is_completed(record)) {
    BLIS_TRY(blis_sketch_add(&tally->e2e_us, record->e2e_us));
  }
  if (record->scheduling_delay_us >= 0) {
    BLIS_TRY(blis_sketch_add(&tally->scheduling_delay_us, record->scheduling_delay_us));
  }
  return BLIS_OK;
}

blis_status blis__tally_add_routed(blis_tally *tally, uint32_t instance) {
  return count_instance(tally, instance);
}

blis_status blis__tally_add(blis_tally *tally, const blis_record *record) {
  BLIS_ASSERT(record->ttft_us <= record->e2e_us || !blis_record_is_completed(record));
  blis_state_counts_add(&tally->counts, record->state);
  tally->hits += record->had_hit && blis_record_is_completed(record);
  if (record->instance >= 0) {
    BLIS_TRY(count_instance(tally, (size_t)record->instance));
  }
  return tally->has_sketches ? sketch_times(tally, record) : BLIS_OK;
}

int64_t blis_tally_of_instance(const blis_tally *tally, uint32_t instance) {
  return instance < tally->per_instance.count ? tally->per_instance.items[instance] : 0;
}
