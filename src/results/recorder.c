#include "results/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/invariant.h"

struct blis_recorder {
  blis_alloc alloc;
  bool is_streaming; /* no records are kept */
  blis_request_sink sink;
  BLIS_ARRAY(blis_record) records;
  double first_priority;         /* of the first record */
  BLIS_ARRAY(double) priorities; /* by record; none while all have that one */
  blis_intern *reasons;
  blis_tally tally;
  blis_attempts attempts;
  uint64_t hash;
};

/* The number of a reason; 0 without one. */
static blis_status keep_reason(const blis_recorder *recorder,
                               const char *reason, uint32_t *id) {
  *id = 0;
  if (reason == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_intern_add(recorder->reasons, reason, strlen(reason), id));
  return *id <= BLIS_RECORD_REASON_MAX ? BLIS_OK : BLIS_ERR_NOMEM;
}

/* Behind the record that was added last. */
static blis_status keep_priority(blis_recorder *recorder, double priority) {
  size_t last = recorder->records.count - 1;
  if (last == 0) {
    recorder->first_priority = priority;
  }
  if (recorder->priorities.count == 0) {
    if (priority == recorder->first_priority) {
      return BLIS_OK;
    }
    for (size_t i = 0; i < last; i++) {
      BLIS_TRY(blis_array_push(&recorder->alloc, &recorder->priorities,
                               recorder->first_priority));
    }
  }
  return blis_array_push(&recorder->alloc, &recorder->priorities, priority);
}

static blis_status on_ended(void *ud, const blis_request_end *end,
                            blis_error *error) {
  blis_recorder *recorder = ud;
  blis_record record = blis_record_of(end);
  uint32_t reason;
  BLIS_TRY_MEM(keep_reason(recorder, end->reason, &reason), error);
  record.reason = reason & BLIS_RECORD_REASON_MAX;
  if (!recorder->is_streaming) {
    BLIS_TRY_MEM(blis_array_push(&recorder->alloc, &recorder->records, record),
                 error);
    BLIS_TRY_MEM(keep_priority(recorder, end->priority), error);
  }
  BLIS_TRY_MEM(blis__tally_add(&recorder->tally, &record), error);
  recorder->hash += blis_record_hash(&record);
  BLIS_ASSERT(recorder->is_streaming ||
              recorder->records.count ==
                  (size_t)recorder->tally.counts.arrived);
  return BLIS_OK;
}

static blis_status on_attempted(void *ud, const blis_request *request,
                                const blis_cascade_attempt *attempt,
                                blis_cascade_verdict verdict,
                                blis_error *error) {
  blis_recorder *recorder = ud;
  uint32_t reason;
  bool is_kept = keep_reason(recorder, attempt->reason, &reason) == BLIS_OK &&
                 blis_attempts_add(&recorder->attempts, request, attempt,
                                   verdict, reason) == BLIS_OK;
  if (is_kept && verdict == BLIS_CASCADE_ESCALATE && attempt->instance >= 0) {
    is_kept = blis__tally_add_routed(&recorder->tally,
                                     (uint32_t)attempt->instance) == BLIS_OK;
  }
  return is_kept ? BLIS_OK : blis_fail_nomem(error);
}

static blis_recorder *new_recorder(const blis_alloc *alloc, bool is_streaming) {
  blis_recorder *recorder = blis_alloc_new(alloc, sizeof *recorder);
  if (recorder == NULL) {
    return NULL;
  }
  *recorder = (blis_recorder){
      .alloc = *alloc,
      .is_streaming = is_streaming,
      .sink = {.ended = on_ended, .attempted = on_attempted, .ud = recorder},
      .reasons = blis_intern_new(alloc)};
  blis__tally_init(&recorder->tally, alloc, is_streaming);
  blis_attempts_init(&recorder->attempts, alloc, !is_streaming);
  if (recorder->reasons == NULL) {
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
  blis_array_deinit(&alloc, &recorder->records);
  blis_array_deinit(&alloc, &recorder->priorities);
  blis_intern_free(recorder->reasons);
  blis__tally_deinit(&recorder->tally);
  blis_attempts_deinit(&recorder->attempts);
  blis_alloc_free(&alloc, recorder, sizeof *recorder);
}

const blis_request_sink *blis_recorder_sink(blis_recorder *recorder) {
  return &recorder->sink;
}

static int compare_records(const void *a, const void *b) {
  const blis_record *left = a;
  const blis_record *right = b;
  if (left->arrival_us != right->arrival_us) {
    return left->arrival_us < right->arrival_us ? -1 : 1;
  }
  return (left->number > right->number) - (left->number < right->number);
}

/* A record and its priority, while they are sorted; the record comes first. */
typedef struct with_priority {
  blis_record record;
  double priority;
} with_priority;

static blis_status sort_with_priorities(blis_recorder *recorder) {
  size_t count = recorder->records.count;
  with_priority *all = blis_alloc_zeroed(&recorder->alloc, count, sizeof *all);
  if (all == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < count; i++) {
    all[i] = (with_priority){recorder->records.items[i],
                             recorder->priorities.items[i]};
  }
  qsort(all, count, sizeof *all, compare_records);
  for (size_t i = 0; i < count; i++) {
    recorder->records.items[i] = all[i].record;
    recorder->priorities.items[i] = all[i].priority;
  }
  blis_alloc_free(&recorder->alloc, all, count * sizeof *all);
  return BLIS_OK;
}

blis_status blis_recorder_sort(blis_recorder *recorder) {
  blis_attempts_sort(&recorder->attempts);
  if (recorder->priorities.count > 1) {
    return sort_with_priorities(recorder);
  }
  if (recorder->records.count > 1) {
    qsort(recorder->records.items, recorder->records.count,
          sizeof *recorder->records.items, compare_records);
  }
  return BLIS_OK;
}

bool blis_recorder_keeps_records(const blis_recorder *recorder) {
  return !recorder->is_streaming;
}

size_t blis_recorder_count(const blis_recorder *recorder) {
  return recorder->records.count;
}

const blis_record *blis_recorder_records(const blis_recorder *recorder) {
  return recorder->records.items;
}

bool blis_recorder_priority(const blis_recorder *recorder, size_t index,
                            double *priority) {
  if (recorder->priorities.count == 0) {
    return false;
  }
  *priority = recorder->priorities.items[index];
  return true;
}

const char *blis_recorder_reason(const blis_recorder *recorder,
                                 const blis_record *record) {
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
