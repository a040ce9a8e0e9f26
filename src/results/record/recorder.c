#include "results/record/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/containers/intern.h"
#include "base/invariant.h"

#define NOT_ADMITTED UINT32_MAX

struct blis_recorder {
  blis_alloc alloc;
  bool is_streaming; /* no records are kept */
  blis_request_sink sink;
  blis__record_store store;
  BLIS_ARRAY(uint32_t) order;          /* of the first so many, by arrival */
  double first_priority;               /* of the first record */
  BLIS_ARRAY(double) priorities;       /* by record; none while all have that one */
  BLIS_ARRAY(blis_stage_times) stages; /* by record, as far as any has them */
  /* What was found of prompts: of each record, as far as any has it, tokens in
     caches and in each of the tiers; NOT_ADMITTED in the first place. */
  BLIS_ARRAY(uint32_t) hits;
  uint32_t tier_count;
  blis_intern *reasons;
  blis_tally tally;
  blis_attempts attempts;
  uint64_t hash;
  blis__whole *whole;
};

/* The number of a reason; 0 without one. */
static blis_status keep_reason(const blis_recorder *recorder, const char *reason, uint32_t *id) {
  *id = 0;
  if (reason == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_intern_add(recorder->reasons, reason, strlen(reason), id));
  return *id <= BLIS_RECORD_REASON_MAX ? BLIS_OK : BLIS_ERR_NOMEM;
}

/* Behind the record that was added last. */
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

/* The same for where prefill and decode were, if they were apart. */
static blis_status keep_stages(blis_recorder *recorder, const blis_stage_times *stages) {
  size_t last = recorder->store.records.count - 1;
  if (stages == NULL) {
    return BLIS_OK;
  }
  const blis_stage_times none = BLIS_STAGE_TIMES_NONE;
  while (recorder->stages.count < last) {
    BLIS_TRY(blis_array_push(&recorder->alloc, &recorder->stages, none));
  }
  return blis_array_push(&recorder->alloc, &recorder->stages, *stages);
}

/* The same for what was found of its prompt. */
static blis_status keep_hits(blis_recorder *recorder, const blis_kv_hits *hits) {
  if (hits == NULL) {
    return BLIS_OK;
  }
  BLIS_ASSERT(recorder->tier_count == 0 || recorder->tier_count == hits->count);
  recorder->tier_count = hits->count;
  size_t width = (size_t)hits->count + 1;
  size_t before = (recorder->store.records.count - 1) * width;
  BLIS_TRY(blis_array_reserve(&recorder->alloc, &recorder->hits, before + width));
  while (recorder->hits.count < before) {
    recorder->hits.items[recorder->hits.count++] = NOT_ADMITTED;
  }
  recorder->hits.items[recorder->hits.count++] = (uint32_t)hits->cached_tokens;
  for (uint32_t t = 0; t < hits->count; t++) {
    recorder->hits.items[recorder->hits.count++] = (uint32_t)hits->tier_tokens[t];
  }
  return BLIS_OK;
}

/* Who did other stages of it got the request as well. */
static blis_status count_stages(blis_recorder *recorder, const blis_stage_times *stages) {
  if (stages == NULL) {
    return BLIS_OK;
  }
  const int32_t instances[] = {stages->encode_instance, stages->prefill_instance};
  for (size_t i = 0; i < 2; i++) {
    if (instances[i] >= 0) {
      BLIS_TRY(blis__tally_add_routed(&recorder->tally, (uint32_t)instances[i]));
    }
  }
  return BLIS_OK;
}

static blis_status on_ended(void *ud, const blis_request_end *end, blis_error *error) {
  blis_recorder *recorder = ud;
  blis_record record = blis_record_of(end);
  uint32_t reason;
  BLIS_TRY_MEM(keep_reason(recorder, end->reason, &reason), error);
  record.reason = reason;
  if (!recorder->is_streaming) {
    BLIS_TRY_MEM(blis__record_store_add(&recorder->store, &record), error);
    BLIS_TRY_MEM(keep_priority(recorder, end->priority), error);
    BLIS_TRY_MEM(keep_stages(recorder, end->stages), error);
    BLIS_TRY_MEM(keep_hits(recorder, end->hits), error);
  }
  BLIS_TRY_MEM(blis__tally_add(&recorder->tally, &record), error);
  BLIS_TRY_MEM(count_stages(recorder, end->stages), error);
  recorder->hash += blis_record_hash(&record);
  BLIS_ASSERT(recorder->is_streaming ||
              recorder->store.records.count == (size_t)recorder->tally.counts.arrived);
  return BLIS_OK;
}

static blis_status on_attempted(void *ud, const blis_request *request,
                                const blis_cascade_attempt *attempt, blis_cascade_verdict verdict,
                                blis_error *error) {
  blis_recorder *recorder = ud;
  uint32_t reason;
  bool is_kept =
      keep_reason(recorder, attempt->reason, &reason) == BLIS_OK &&
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
  blis_array_deinit(&alloc, &recorder->stages);
  blis_array_deinit(&alloc, &recorder->hits);
  blis_intern_free(recorder->reasons);
  blis__tally_deinit(&recorder->tally);
  blis_attempts_deinit(&recorder->attempts);
  blis_alloc_free(&alloc, recorder->whole, sizeof *recorder->whole);
  blis_alloc_free(&alloc, recorder, sizeof *recorder);
}

const blis_request_sink *blis_recorder_sink(blis_recorder *recorder) {
  return &recorder->sink;
}

/* What records are sorted by; index, so that equals keep their order. */
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

/* Where the record is that is listed as the nth. */
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

bool blis_recorder_has_sessions(const blis_recorder *recorder) {
  const blis__record_store *store = &recorder->store;
  size_t i = 0;
  while (i < store->sessions.count && store->sessions.items[i].session == 0) {
    i++;
  }
  return i < store->sessions.count;
}

bool blis_recorder_has_gateway_waits(const blis_recorder *recorder) {
  return recorder->store.gateway_waits_us.count > 0;
}

bool blis_recorder_has_adapter_waits(const blis_recorder *recorder) {
  return recorder->store.adapter_waits_us.count > 0;
}

const blis_stage_times *blis_recorder_stages(const blis_recorder *recorder, size_t index) {
  if (recorder->stages.count == 0) {
    return NULL;
  }
  size_t at = index_of(recorder, index);
  const blis_stage_times *stages = &recorder->stages.items[at];
  return at < recorder->stages.count &&
                 (stages->prefill_instance >= 0 || stages->encode_instance >= 0)
             ? stages
             : NULL;
}

uint32_t blis_recorder_tier_count(const blis_recorder *recorder) {
  return recorder->tier_count;
}

bool blis_recorder_hits(const blis_recorder *recorder, size_t index, blis_kv_hits *hits) {
  size_t width = (size_t)recorder->tier_count + 1;
  size_t at = index_of(recorder, index) * width;
  if (at >= recorder->hits.count || recorder->hits.items[at] == NOT_ADMITTED) {
    return false;
  }
  *hits = (blis_kv_hits){.count = recorder->tier_count, .cached_tokens = recorder->hits.items[at]};
  for (uint32_t t = 0; t < hits->count; t++) {
    hits->tier_tokens[t] = recorder->hits.items[at + 1 + t];
  }
  return true;
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

/* Where a time belongs among count of them, behind its equals. */
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
  int64_t least_us = -1; /* of those found, once there are enough */
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
