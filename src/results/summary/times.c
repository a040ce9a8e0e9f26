#include "results/summary/times.h"

typedef enum time_kind { TTFT, E2E, SCHEDULING_DELAY } time_kind;

/* Below 0 = it has none. */
static inline int64_t time_of(const blis__record_times *times, time_kind kind) {
  switch (kind) {
  case TTFT:
    return times->ttft_us;
  case E2E:
    return times->e2e_us;
  default:
    return times->scheduling_delay_us;
  }
}

static inline void fill(blis_percentiles *result, blis_value_set *set,
                        const blis__selection *selection, time_kind kind) {
  blis_value_set_clear(set, false);
  for (size_t i = 0; i < selection->count; i++) {
    const blis__record_times times =
        blis__record_store_times(selection->store, blis__selected(selection, i));
    int64_t value_us = time_of(&times, kind);
    if (value_us >= 0) {
      blis_value_set_add(set, value_us);
    }
  }
  blis_percentiles_of_set(result, set);
}

/* Of the requests' own means. */
static void fill_itl(blis_percentiles *result, blis_value_set *set,
                     const blis__selection *selection) {
  blis_value_set_clear(set, true);
  for (size_t i = 0; i < selection->count; i++) {
    const blis__short_record *record = blis__selected(selection, i);
    if (blis_request_is_completed(record->state) && record->itl_count > 0) {
      const blis__record_times times = blis__record_store_times(selection->store, record);
      blis_value_set_add_double(set, (double)times.itl_sum_us / (double)record->itl_count);
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

typedef int64_t (*wait_of)(const blis__record_store *store, size_t index);

/* Those that are not below 0. */
static blis_status fill_waits(blis_percentiles *waits, const blis_alloc *alloc,
                              const blis__selection *selection, wait_of wait) {
  blis_value_set set;
  BLIS_TRY(blis_value_set_init(&set, alloc, selection->count, false));
  for (size_t i = 0; i < selection->count; i++) {
    int64_t wait_us = wait(selection->store, blis__selected_index(selection, i));
    if (wait_us >= 0) {
      blis_value_set_add(&set, wait_us);
    }
  }
  blis_percentiles_of_set(waits, &set);
  blis_value_set_deinit(&set, alloc);
  return BLIS_OK;
}

blis_status blis__gateway_waits_fill(blis_percentiles *waits, const blis_alloc *alloc,
                                     const blis__selection *selection) {
  *waits = (blis_percentiles){0};
  return selection->store->gateway_waits_us.count == 0
             ? BLIS_OK
             : fill_waits(waits, alloc, selection, blis__record_store_gateway_wait_us);
}

blis_status blis__adapter_waits_fill(blis_percentiles *waits, const blis_alloc *alloc,
                                     const blis__selection *selection) {
  *waits = (blis_percentiles){0};
  return selection->store->adapter_waits_us.count == 0
             ? BLIS_OK
             : fill_waits(waits, alloc, selection, blis__record_store_adapter_wait_us);
}

static void add_tokens(blis__whole *whole, const blis__record_store *store) {
  whole->prompt_tokens = 0;
  whole->output_tokens = 0;
  for (size_t i = 0; i < store->records.count; i++) {
    const blis__short_record *record = &store->records.items[i];
    whole->prompt_tokens += record->prompt_tokens;
    if (blis_request_is_completed(record->state)) {
      whole->output_tokens += record->output_tokens;
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
