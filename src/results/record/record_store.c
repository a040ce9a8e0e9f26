#include "results/record/record_store.h"

#include "base/invariant.h"

void blis__record_store_init(blis__record_store *store, const blis_alloc *alloc) {
  *store = (blis__record_store){.alloc = *alloc};
  blis_map_init(&store->senders, alloc);
  blis_map_init(&store->targets, alloc);
  blis_map_init(&store->origin_of_sender, alloc);
}

void blis__record_store_deinit(blis__record_store *store) {
  blis_array_deinit(&store->alloc, &store->records);
  blis_array_deinit(&store->alloc, &store->longs);
  blis_array_deinit(&store->alloc, &store->sessions);
  blis_array_deinit(&store->alloc, &store->gateway_waits_us);
  blis_array_deinit(&store->alloc, &store->adapter_waits_us);
  blis_array_deinit(&store->alloc, &store->drafted);
  blis_array_deinit(&store->alloc, &store->energies_nj);
  blis_array_deinit(&store->alloc, &store->carbons_pg);
  blis_array_deinit(&store->alloc, &store->origins);
  blis_map_deinit(&store->senders);
  blis_map_deinit(&store->targets);
  blis_map_deinit(&store->origin_of_sender);
}

static bool is_from(const blis__origin *origin, const blis_record *record) {
  return origin->tenant == record->tenant && origin->slo_class == record->slo_class &&
         origin->model == record->model && origin->adapter == record->adapter;
}

/* Two numbers as one. */
static uint64_t pair(uint32_t a, uint32_t b) {
  return (uint64_t)a << 32 | b;
}

/* A model alone is its own number; those of models with adapters are above. */
static blis_status find_target(blis__record_store *store, const blis_record *record,
                               uint32_t *target) {
  const uint32_t with_adapter = UINT32_C(1) << 31;
  *target = record->model;
  if (record->adapter == 0) {
    return BLIS_OK;
  }
  uint64_t *found;
  BLIS_TRY(blis_map_add(&store->targets, pair(record->model, record->adapter),
                        blis_map_count(&store->targets), &found, NULL));
  *target = with_adapter | (uint32_t)*found;
  return BLIS_OK;
}

/* Requests mostly come from where the last one came from. */
static blis_status find_origin(blis__record_store *store, const blis_record *record,
                               uint32_t *place) {
  size_t count = store->records.count;
  uint32_t last = count == 0 ? 0 : store->records.items[count - 1].origin;
  *place = last;
  if (last < store->origins.count && is_from(&store->origins.items[last], record)) {
    return BLIS_OK;
  }
  uint64_t *found;
  BLIS_TRY(blis_map_add(&store->senders, pair(record->tenant, record->slo_class),
                        blis_map_count(&store->senders), &found, NULL));
  uint32_t sender = (uint32_t)*found;
  uint32_t target;
  bool is_new;
  BLIS_TRY(find_target(store, record, &target));
  BLIS_TRY(blis_map_add(&store->origin_of_sender, pair(sender, target), store->origins.count,
                        &found, &is_new));
  *place = (uint32_t)*found;
  const blis__origin origin = {record->tenant, record->slo_class, record->model, record->adapter};
  return is_new ? blis_array_push(&store->alloc, &store->origins, origin) : BLIS_OK;
}

/* In a list beside the records, behind the record that was added last; those
   before it that are not there get none. */
#define KEEP_BESIDE(store, list, none, value)                                                      \
  do {                                                                                             \
    BLIS_TRY(blis_array_reserve(&(store)->alloc, &(store)->list, (store)->records.count));         \
    while ((store)->list.count + 1 < (store)->records.count) {                                     \
      (store)->list.items[(store)->list.count++] = (none);                                         \
    }                                                                                              \
    (store)->list.items[(store)->list.count++] = (value);                                          \
  } while (0)

static blis_status keep_session(blis__record_store *store, const blis_record *record) {
  const blis__session none = {0};
  const blis__session session = {record->session, record->round_index, record->program};
  if (store->sessions.count > 0 || record->session != 0 || record->round_index != 0 ||
      record->program != 0) {
    KEEP_BESIDE(store, sessions, none, session);
  }
  return BLIS_OK;
}

/* What few have; below 0 = it has none. */
static blis_status keep_rare(blis__record_store *store, const blis_record *record) {
  const blis__drafted none = {-1, -1};
  const blis__drafted drafted = {record->drafted_tokens, record->accepted_tokens};
  if (record->gateway_wait_us >= 0) {
    KEEP_BESIDE(store, gateway_waits_us, -1, record->gateway_wait_us);
  }
  if (record->adapter_wait_us >= 0) {
    KEEP_BESIDE(store, adapter_waits_us, -1, record->adapter_wait_us);
  }
  if (record->energy_nj >= 0) {
    KEEP_BESIDE(store, energies_nj, -1, record->energy_nj);
  }
  if (record->carbon_pg >= 0) {
    KEEP_BESIDE(store, carbons_pg, -1, record->carbon_pg);
  }
  if (drafted.drafted_tokens >= 0) {
    KEEP_BESIDE(store, drafted, none, drafted);
  }
  return BLIS_OK;
}

/* Keeps a time of -1 or more; false when it is too long. */
static bool shorten(int64_t time_us, uint32_t *kept) {
  BLIS_ASSERT(time_us >= -1);
  *kept = (uint32_t)(time_us + 1);
  return time_us < UINT32_MAX;
}

static blis_status put_times(blis__record_store *store, const blis_record *record,
                             blis__short_record *kept) {
  kept->number = (int32_t)record->number;
  bool fits = record->number >= INT32_MIN && record->number <= INT32_MAX &&
              record->end_us >= record->arrival_us;
  fits = shorten(record->ttft_us, &kept->ttft_us) && fits;
  fits = shorten(record->e2e_us, &kept->e2e_us) && fits;
  fits = shorten(record->scheduling_delay_us, &kept->scheduling_delay_us) && fits;
  fits = shorten(record->itl_sum_us, &kept->itl_sum_us) && fits;
  if (fits && shorten(record->end_us - record->arrival_us, &kept->end_us)) {
    return BLIS_OK;
  }
  if (store->longs.count > INT32_MAX) {
    return BLIS_ERR_NOMEM;
  }
  kept->is_long = true;
  kept->number = (int32_t)store->longs.count;
  const blis__long_record all = {record->number,     record->ttft_us,
                                 record->e2e_us,     record->scheduling_delay_us,
                                 record->itl_sum_us, record->end_us};
  return blis_array_push(&store->alloc, &store->longs, all);
}

blis_status blis__record_store_add(blis__record_store *store, const blis_record *record) {
  blis__short_record kept = {
      .arrival_us = record->arrival_us,
      .itl_count = record->itl_count,
      .prompt_tokens = record->prompt_tokens,
      .output_tokens = record->output_tokens,
      .instance = record->instance,
      .reason = record->reason & BLIS_RECORD_REASON_MAX,
      .was_counted = record->was_counted,
      .had_hit = record->had_hit,
      .state = record->state,
  };
  BLIS_TRY(find_origin(store, record, &kept.origin));
  BLIS_TRY(put_times(store, record, &kept));
  BLIS_TRY(blis_array_push(&store->alloc, &store->records, kept));
  BLIS_TRY(keep_rare(store, record));
  return keep_session(store, record);
}

blis_record blis__record_store_get(const blis__record_store *store, size_t index) {
  BLIS_ASSERT(index < store->records.count);
  const blis__short_record *kept = &store->records.items[index];
  const blis__origin *origin = &store->origins.items[kept->origin];
  const blis__record_times times = blis__record_store_times(store, kept);
  const blis__drafted drafted = blis__record_store_drafted(store, index);
  blis_record record = {
      .number = kept->number,
      .arrival_us = kept->arrival_us,
      .ttft_us = times.ttft_us,
      .e2e_us = times.e2e_us,
      .scheduling_delay_us = times.scheduling_delay_us,
      .itl_sum_us = times.itl_sum_us,
      .end_us = kept->arrival_us + (int64_t)kept->end_us - 1,
      .gateway_wait_us = blis__record_store_gateway_wait_us(store, index),
      .adapter_wait_us = blis__record_store_adapter_wait_us(store, index),
      .energy_nj = blis__record_store_energy_nj(store, index),
      .carbon_pg = blis__record_store_carbon_pg(store, index),
      .drafted_tokens = drafted.drafted_tokens,
      .accepted_tokens = drafted.accepted_tokens,
      .itl_count = kept->itl_count,
      .prompt_tokens = kept->prompt_tokens,
      .output_tokens = kept->output_tokens,
      .instance = kept->instance,
      .tenant = origin->tenant,
      .slo_class = origin->slo_class,
      .model = origin->model,
      .adapter = origin->adapter,
      .reason = kept->reason,
      .state = kept->state,
      .was_counted = kept->was_counted,
      .had_hit = kept->had_hit,
  };
  if (kept->is_long) {
    record.number = store->longs.items[kept->number].number;
    record.end_us = store->longs.items[kept->number].end_us;
  }
  if (store->sessions.count > 0) {
    record.session = store->sessions.items[index].session;
    record.round_index = store->sessions.items[index].round_index;
    record.program = store->sessions.items[index].program;
  }
  return record;
}
