#include "results/record/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/containers/intern.h"
#include "base/invariant.h"
#include "cluster/handoff/handoff.h"
#include "cluster/tiers/kv_tiers.h"

struct blis_recorder {
  blis_alloc alloc;
  bool is_streaming; /* no records are kept */
  blis_request_sink sink;
  blis__record_store store;
  BLIS_ARRAY(uint32_t) order;                  /* indices of the first records, by arrival */
  double first_priority;                       /* of the first record */
  BLIS_ARRAY(double) priorities;               /* by record; empty while all equal first_priority */
  blis__column tier_tokens[BLIS_KV_TIERS_MAX]; /* prompt tokens loaded from each KV tier */
  uint32_t tier_count;                         /* 0 = no record has loaded tokens from a tier */
  blis_intern *reasons;
  blis_tally tally;
  blis_attempts attempts;
  uint64_t hash;
  blis__whole *whole;
};

/* Returns the number of a reason; 0 = none. */
static blis_status number_of_reason(const blis_recorder *recorder, const char *reason,
                                    uint32_t *number) {
  *number = 0;
  if (reason == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_intern_add(recorder->reasons, reason, strlen(reason), number));
  return *number <= BLIS_RECORD_REASON_MAX ? BLIS_OK : BLIS_ERR_NOMEM;
}

static blis_status keep_reason(const blis_recorder *recorder, const char *reason,
                               blis_record *record) {
  uint32_t number;
  BLIS_TRY(number_of_reason(recorder, reason, &number));
  record->reason = number & BLIS_RECORD_REASON_MAX;
  return BLIS_OK;
}

/* Stores the priority of the record that was added last. */
static blis_status keep_priority(blis_recorder *recorder, double priority) {
  size_t last = recorder->store.records.count - 1;
  if (last == 0) {
    recorder->first_priority = priority;
  }
  if (recorder->priorities.count == 0) {
    if (priority == recorder->first_priority) {
      return BLIS_OK;
    }
    for (size_t i = 0; i < last; i++) {
      BLIS_TRY(blis_array_push(&recorder->alloc, &recorder->priorities, recorder->first_priority));
    }
  }
  return blis_array_push(&recorder->alloc, &recorder->priorities, priority);
}

static blis_status keep_extras(blis_recorder *recorder, const blis_record_extras *extras) {
  uint64_t left = extras == NULL ? 0 : extras->set;
  for (int i = 0; left != 0; i++, left >>= 1) {
    if ((left & 1) != 0) {
      BLIS_TRY(
          blis__record_store_set_extra(&recorder->store, (blis_record_extra)i, extras->values[i]));
    }
  }
  return BLIS_OK;
}

/* Stores the extra fields that come from the workload. */
static blis_status keep_origin(blis_recorder *recorder, const blis_request *request) {
  if (request->session != 0) {
    BLIS_TRY(blis__record_store_set_extra(&recorder->store, BLIS_EXTRA_session, request->session));
    BLIS_TRY(blis__record_store_set_extra(&recorder->store, BLIS_EXTRA_round_index,
                                          request->round_index));
  }
  return request->call == NULL ? BLIS_OK
                               : blis__record_store_set_extra(&recorder->store, BLIS_EXTRA_program,
                                                              request->call->program->name);
}

/* Stores the instances and times of stages on other instances. */
static blis_status keep_stages(blis_recorder *recorder, const blis_stage_times *stages) {
#define XX(name, ...)                                                                              \
  BLIS_TRY(blis__record_store_set_extra(&recorder->store, BLIS_EXTRA_##name, stages->name));
  if (stages != NULL && stages->encode_instance >= 0) {
    BLIS_ENCODE_RECORD_FIELDS(XX)
  }
  if (stages != NULL && stages->prefill_instance >= 0) {
    BLIS_HANDOFF_RECORD_FIELDS(XX)
  }
#undef XX
  return BLIS_OK;
}

static blis_status keep_hits(blis_recorder *recorder, const blis_kv_hits *hits) {
  if (hits == NULL) {
    return BLIS_OK;
  }
  BLIS_ASSERT(recorder->tier_count == 0 || recorder->tier_count == hits->count);
  recorder->tier_count = hits->count;
  for (uint32_t t = 0; t < hits->count; t++) {
    BLIS_TRY(blis__column_put(&recorder->tier_tokens[t], &recorder->alloc,
                              recorder->store.records.count - 1, hits->tier_tokens[t]));
  }
  return BLIS_OK;
}

/* Counts the request for the instances of its other stages. */
static blis_status count_stages(blis_recorder *recorder, int64_t encoder, int64_t prefiller) {
  if (encoder >= 0) {
    BLIS_TRY(blis__tally_add_routed(&recorder->tally, (uint32_t)encoder));
  }
  return prefiller < 0 ? BLIS_OK : blis__tally_add_routed(&recorder->tally, (uint32_t)prefiller);
}

/* Counts a record. If records are kept, it has already been stored. */
static blis_status count_record(blis_recorder *recorder, const blis_record *record) {
  BLIS_TRY(blis__tally_add(&recorder->tally, record));
  recorder->hash += blis_record_hash(record);
  BLIS_ASSERT(recorder->is_streaming ||
              recorder->store.records.count == (size_t)recorder->tally.counts.arrived);
  return BLIS_OK;
}

/* Counts a record, and stores it if records are kept. */
static blis_status add(blis_recorder *recorder, blis_record *record, const char *reason,
                       double priority, const blis_record_extras *extras,
                       const blis_kv_hits *hits) {
  BLIS_TRY(keep_reason(recorder, reason, record));
  if (!recorder->is_streaming) {
    BLIS_TRY(blis__record_store_add(&recorder->store, record));
    BLIS_TRY(keep_priority(recorder, priority));
    BLIS_TRY(keep_extras(recorder, extras));
    BLIS_TRY(keep_hits(recorder, hits));
  }
  return count_record(recorder, record);
}

/* Stores the values that a cluster adds to the record of a request. */
static blis_status keep_end(blis_recorder *recorder, const blis_request_end *end) {
  BLIS_TRY(keep_origin(recorder, end->request));
  BLIS_TRY(keep_stages(recorder, end->stages));
  return end->hits == NULL
             ? BLIS_OK
             : blis__record_store_set_extra(&recorder->store, BLIS_EXTRA_cached_tokens,
                                            end->hits->cached_tokens);
}

static blis_status on_ended(void *ud, const blis_request_end *end, blis_error *error) {
  blis_recorder *recorder = ud;
  const blis_stage_times *stages = end->stages;
  blis_record record = blis_record_of(end);
  BLIS_TRY_MEM(add(recorder, &record, end->reason, end->priority, end->extras, end->hits), error);
  if (!recorder->is_streaming) {
    BLIS_TRY_MEM(keep_end(recorder, end), error);
  }
  if (stages != NULL) {
    BLIS_TRY_MEM(count_stages(recorder, stages->encode_instance, stages->prefill_instance), error);
  }
  return BLIS_OK;
}

blis_status blis_recorder_add(blis_recorder *recorder, const blis_record *record,
                              const char *reason, double priority, const blis_record_extras *extras,
                              const blis_kv_hits *hits) {
  BLIS_ASSERT(!recorder->is_streaming);
  blis_record added = *record;
  BLIS_TRY(add(recorder, &added, reason, priority, extras, hits));
  return count_stages(recorder, blis_record_extras_get(extras, BLIS_EXTRA_encode_instance),
                      blis_record_extras_get(extras, BLIS_EXTRA_prefill_instance));
}

static blis_status on_attempted(void *ud, const blis_request *request,
                                const blis_cascade_attempt *attempt, blis_cascade_verdict verdict,
                                blis_error *error) {
  blis_recorder *recorder = ud;
  uint32_t reason;
  bool is_kept =
      number_of_reason(recorder, attempt->reason, &reason) == BLIS_OK &&
      blis_attempts_add(&recorder->attempts, request, attempt, verdict, reason) == BLIS_OK;
  if (is_kept && verdict == BLIS_CASCADE_ESCALATE && attempt->instance >= 0) {
    is_kept = blis__tally_add_routed(&recorder->tally, (uint32_t)attempt->instance) == BLIS_OK;
  }
  return is_kept ? BLIS_OK : blis_fail_nomem(error);
}

static blis_recorder *new_recorder(const blis_alloc *alloc, bool is_streaming) {
  blis_recorder *recorder = blis_alloc_new(alloc, sizeof *recorder);
  if (recorder == NULL) {
    return NULL;
  }
  *recorder =
      (blis_recorder){.alloc = *alloc,
                      .is_streaming = is_streaming,
                      .sink = {.ended = on_ended, .attempted = on_attempted, .ud = recorder},
                      .reasons = blis_intern_new(alloc),
                      .whole = blis_alloc_zeroed(alloc, 1, sizeof *recorder->whole)};
  blis__record_store_init(&recorder->store, alloc);
  blis__tally_init(&recorder->tally, alloc, is_streaming);
  blis_attempts_init(&recorder->attempts, alloc, !is_streaming);
  if (recorder->reasons == NULL || recorder->whole == NULL) {
    blis_recorder_free(recorder);
    return NULL;
  }
  return recorder;
}

blis_recorder *blis_recorder_new(const blis_alloc *alloc) {
  return new_recorder(alloc, false);
}

blis_recorder *blis_recorder_new_streaming(const blis_alloc *alloc) {
  return new_recorder(alloc, true);
}

void blis_recorder_free(blis_recorder *recorder) {
  if (recorder == NULL) {
    return;
  }
  blis_alloc alloc = recorder->alloc;
  blis__record_store_deinit(&recorder->store);
  blis_array_deinit(&alloc, &recorder->order);
  blis_array_deinit(&alloc, &recorder->priorities);
  for (uint32_t t = 0; t < recorder->tier_count; t++) {
    blis__column_deinit(&recorder->tier_tokens[t], &alloc);
  }
  blis_intern_free(recorder->reasons);
  blis__tally_deinit(&recorder->tally);
  blis_attempts_deinit(&recorder->attempts);
  blis_alloc_free(&alloc, recorder->whole, sizeof *recorder->whole);
  blis_alloc_free(&alloc, recorder, sizeof *recorder);
}

const blis_request_sink *blis_recorder_sink(blis_recorder *recorder) {
  return &recorder->sink;
}

/* Sort key of a record; index preserves the order of equal records. */
typedef struct place {
  int64_t arrival_us;
  int64_t number;
  uint32_t index;
} place;

static int compare_places(const void *a, const void *b) {
  const place *left = a;
  const place *right = b;
  if (left->arrival_us != right->arrival_us) {
    return left->arrival_us < right->arrival_us ? -1 : 1;
  }
  if (left->number != right->number) {
    return left->number < right->number ? -1 : 1;
  }
  return left->index < right->index ? -1 : 1;
}

static void sort_places(const blis_recorder *recorder, place *places, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const blis_record record = blis__record_store_get(&recorder->store, i);
    places[i] = (place){record.arrival_us, record.number, (uint32_t)i};
  }
  qsort(places, count, sizeof *places, compare_places);
}

blis_status blis_recorder_sort(blis_recorder *recorder) {
  size_t count = recorder->store.records.count;
  blis_attempts_sort(&recorder->attempts);
  if (recorder->order.count == count) {
    return BLIS_OK;
  }
  recorder->order.count = 0;
  BLIS_ASSERT(count <= UINT32_MAX);
  BLIS_TRY(blis_array_reserve(&recorder->alloc, &recorder->order, count));
  place *places = blis_alloc_new(&recorder->alloc, count * sizeof *places);
  if (places == NULL) {
    return BLIS_ERR_NOMEM;
  }
  sort_places(recorder, places, count);
  for (size_t i = 0; i < count; i++) {
    recorder->order.items[recorder->order.count++] = places[i].index;
  }
  blis_alloc_free(&recorder->alloc, places, count * sizeof *places);
  return BLIS_OK;
}

/* Returns the index of the record that is listed as the n-th. */
static size_t index_of(const blis_recorder *recorder, size_t nth) {
  return nth < recorder->order.count ? recorder->order.items[nth] : nth;
}

bool blis_recorder_keeps_records(const blis_recorder *recorder) {
  return !recorder->is_streaming;
}

size_t blis_recorder_count(const blis_recorder *recorder) {
  return recorder->store.records.count;
}

blis_record blis_recorder_record(const blis_recorder *recorder, size_t index) {
  return blis__record_store_get(&recorder->store, index_of(recorder, index));
}

bool blis_recorder_has(const blis_recorder *recorder, blis_record_extra extra) {
  return blis__column_exists(&recorder->store.extras[extra]);
}

int64_t blis_recorder_extra(const blis_recorder *recorder, size_t index, blis_record_extra extra) {
  return blis__record_store_extra(&recorder->store, index_of(recorder, index), extra);
}

uint32_t blis_recorder_tier_count(const blis_recorder *recorder) {
  return recorder->tier_count;
}

int64_t blis_recorder_tier_tokens(const blis_recorder *recorder, size_t index, uint32_t tier) {
  return blis__column_get(&recorder->tier_tokens[tier], index_of(recorder, index));
}

bool blis_recorder_priority(const blis_recorder *recorder, size_t index, double *priority) {
  if (recorder->priorities.count == 0) {
    return false;
  }
  *priority = recorder->priorities.items[index_of(recorder, index)];
  return true;
}

const char *blis_recorder_reason(const blis_recorder *recorder, const blis_record *record) {
  return blis_intern_text(recorder->reasons, record->reason);
}

const blis_attempts *blis_recorder_attempts(const blis_recorder *recorder) {
  return &recorder->attempts;
}

const char *blis_recorder_attempt_reason(const blis_recorder *recorder,
                                         const blis_attempt_record *attempt) {
  return blis_intern_text(recorder->reasons, attempt->reason);
}

uint64_t blis_recorder_hash(const blis_recorder *recorder) {
  return recorder->hash + recorder->attempts.hash;
}

const blis_tally *blis_recorder_tally(const blis_recorder *recorder) {
  return &recorder->tally;
}

const blis__record_store *blis__recorder_store(const blis_recorder *recorder) {
  return &recorder->store;
}

blis__whole *blis__recorder_whole(const blis_recorder *recorder) {
  return recorder->whole;
}

static int64_t e2e_us(const blis_recorder *recorder, size_t index) {
  return blis_recorder_record(recorder, index).e2e_us;
}

/* Returns the position of a time among count records, after equal times. */
static size_t place_of(const blis_recorder *recorder, const size_t *indices, size_t count,
                       int64_t time_us) {
  size_t low = 0;
  while (low < count) {
    size_t middle = (low + count) / 2;
    if (e2e_us(recorder, indices[middle]) >= time_us) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

size_t blis_recorder_slowest(const blis_recorder *recorder, size_t *indices, size_t wanted) {
  size_t count = 0;
  int64_t least_us = -1; /* lowest E2E of the found requests, once enough are found */
  for (size_t i = 0; i < blis_recorder_count(recorder) && wanted > 0; i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (!blis_record_is_completed(&record) || (count == wanted && record.e2e_us <= least_us)) {
      continue;
    }
    size_t at = place_of(recorder, indices, count, record.e2e_us);
    count += count < wanted;
    memmove(&indices[at + 1], &indices[at], (count - 1 - at) * sizeof *indices);
    indices[at] = i;
    least_us = e2e_us(recorder, indices[count - 1]);
  }
  return count;
}
