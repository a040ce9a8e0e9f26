#include "results/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

struct blis_recorder {
  blis_alloc alloc;
  bool is_streaming; /* no records are kept */
  blis_request_sink sink;
  BLIS_ARRAY(blis_record) records;
  blis_intern *reasons;
  blis_tally tally;
  uint64_t hash;
};

static blis_status on_ended(void *ud, const blis_request_end *end,
                            blis_error *error) {
  blis_recorder *recorder = ud;
  blis_record record = blis_record_of(end);
  if (end->reason != NULL) {
    uint32_t reason = 0;
    if (blis_intern_add(recorder->reasons, end->reason, strlen(end->reason),
                        &reason) != BLIS_OK ||
        reason > BLIS_RECORD_REASON_MAX) {
      return blis_fail_nomem(error);
    }
    record.reason = reason & BLIS_RECORD_REASON_MAX;
  }
  if (!recorder->is_streaming &&
      blis_array_push(&recorder->alloc, &recorder->records, record) !=
          BLIS_OK) {
    return blis_fail_nomem(error);
  }
  if (blis__tally_add(&recorder->tally, &record) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  recorder->hash += blis_record_hash(&record);
  return BLIS_OK;
}

static blis_recorder *new_recorder(const blis_alloc *alloc, bool is_streaming) {
  blis_recorder *recorder = blis_alloc_new(alloc, sizeof *recorder);
  if (recorder == NULL) {
    return NULL;
  }
  *recorder = (blis_recorder){.alloc = *alloc,
                              .is_streaming = is_streaming,
                              .sink = {.ended = on_ended, .ud = recorder},
                              .reasons = blis_intern_new(alloc)};
  blis__tally_init(&recorder->tally, alloc, is_streaming);
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
  blis_intern_free(recorder->reasons);
  blis__tally_deinit(&recorder->tally);
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

void blis_recorder_sort(blis_recorder *recorder) {
  if (recorder->records.count > 1) {
    qsort(recorder->records.items, recorder->records.count,
          sizeof *recorder->records.items, compare_records);
  }
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

const char *blis_recorder_reason(const blis_recorder *recorder,
                                 const blis_record *record) {
  return blis_intern_text(recorder->reasons, record->reason);
}

uint64_t blis_recorder_hash(const blis_recorder *recorder) {
  return recorder->hash;
}

const blis_tally *blis_recorder_tally(const blis_recorder *recorder) {
  return &recorder->tally;
}
