#include "results/summary/times.h"

typedef enum time_kind { TTFT, E2E, SCHEDULING_DELAY } time_kind;

/* Returns a time of a record; negative = not set. */
static inline int64_t time_of(const blis__record_store *store, const blis__short_record *record,
                              time_kind kind) {
  switch (kind) {
  case TTFT:
    return BLIS__WORD(store, record, ttft_us);
  case E2E:
    return BLIS__WORD(store, record, e2e_us);
  default:
    return BLIS__WORD(store, record, scheduling_delay_us);
  }
}

static inline void fill(blis_percentiles *result, blis_value_set *set,
                        const blis__selection *selection, time_kind kind) {
  blis_value_set_clear(set, false);
  for (size_t i = 0; i < selection->count; i++) {
    int64_t value_us = time_of(selection->store, blis__selected(selection, i), kind);
    if (value_us >= 0) {
      blis_value_set_add(set, value_us);
    }
  }
  blis_percentiles_of_set(result, set);
}

/* Computes the inter-token latency from the mean of each request. */
static void fill_itl(blis_percentiles *result, blis_value_set *set,
                     const blis__selection *selection) {
  blis_value_set_clear(set, true);
  for (size_t i = 0; i < selection->count; i++) {
    const blis__short_record *record = blis__selected(selection, i);
    int64_t count = BLIS__WORD(selection->store, record, itl_count);
    if (blis_request_is_completed(record->state) && count > 0) {
      int64_t sum_us = BLIS__WORD(selection->store, record, itl_sum_us);
      blis_value_set_add_double(set, (double)sum_us / (double)count);
    }
  }
  blis_percentiles_of_set(result, set);
}

blis_status blis__times_fill(blis_times *times, const blis_alloc *alloc,
                             const blis__selection *selection, blis_histogram *itl_us) {
  blis_value_set set;
  BLIS_TRY(blis_value_set_init(&set, alloc, selection->count, false));
  fill(&times->ttft, &set, selection, TTFT);
  fill(&times->e2e, &set, selection, E2E);
  fill(&times->scheduling_delay, &set, selection, SCHEDULING_DELAY);
  if (itl_us == NULL) {
    fill_itl(&times->itl, &set, selection);
  } else {
    blis_percentiles_of_histogram(&times->itl, itl_us);
  }
  blis_value_set_deinit(&set, alloc);
  return BLIS_OK;
}

blis_status blis__waits_fill(blis_percentiles *waits, const blis_alloc *alloc,
                             const blis__selection *selection, blis_record_extra extra) {
  *waits = (blis_percentiles){0};
  const blis__column *column = &selection->store->extras[extra];
  if (!blis__column_exists(column)) {
    return BLIS_OK;
  }
  blis_value_set set;
  BLIS_TRY(blis_value_set_init(&set, alloc, selection->count, false));
  for (size_t i = 0; i < selection->count; i++) {
    int64_t wait_us = blis__column_get(column, blis__selected_index(selection, i));
    if (wait_us >= 0) {
      blis_value_set_add(&set, wait_us);
    }
  }
  blis_percentiles_of_set(waits, &set);
  blis_value_set_deinit(&set, alloc);
  return BLIS_OK;
}

static void add_tokens(blis__whole *whole, const blis__record_store *store) {
  whole->prompt_tokens = 0;
  whole->output_tokens = 0;
  for (size_t i = 0; i < store->records.count; i++) {
    const blis__short_record *record = &store->records.items[i];
    whole->prompt_tokens += BLIS__WORD(store, record, prompt_tokens);
    if (blis_request_is_completed(record->state)) {
      whole->output_tokens += BLIS__WORD(store, record, output_tokens);
    }
  }
}

blis_status blis__times_of_whole(const blis_recorder *recorder, const blis_alloc *alloc,
                                 const blis__whole **whole) {
  blis__whole *known = blis__recorder_whole(recorder);
  const blis__record_store *store = blis__recorder_store(recorder);
  *whole = known;
  if (known->count != store->records.count) {
    known->count = 0;
    const blis__selection all = {.store = store, .count = store->records.count};
    BLIS_TRY(blis__times_fill(&known->times, alloc, &all, NULL));
    add_tokens(known, store);
    known->count = store->records.count;
  }
  return BLIS_OK;
}
