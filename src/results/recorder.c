#include "results/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

struct blis_recorder {
  blis_alloc alloc;
  blis_request_sink sink;
  BLIS_ARRAY(blis_record) records;
  blis_intern *reasons;
  uint64_t hash;
};

static blis_status on_ended(void *ud, const blis_request_end *end,
                            blis_error *error) {
  blis_recorder *recorder = ud;
  blis_record record = blis_record_of(end);
  if (end->reason != NULL &&
      blis_intern_add(recorder->reasons, end->reason, strlen(end->reason),
                      &record.reason) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  if (blis_array_push(&recorder->alloc, &recorder->records, record) !=
      BLIS_OK) {
    return blis_fail_nomem(error);
  }
  recorder->hash += blis_record_hash(&record);
  return BLIS_OK;
}

blis_recorder *blis_recorder_new(const blis_alloc *alloc) {
  blis_recorder *recorder = blis_alloc_new(alloc, sizeof *recorder);
  if (recorder == NULL) {
    return NULL;
  }
  *recorder = (blis_recorder){.alloc = *alloc,
                              .sink = {.ended = on_ended, .ud = recorder},
                              .reasons = blis_intern_new(alloc)};
  if (recorder->reasons == NULL) {
    blis_recorder_free(recorder);
    return NULL;
  }
  return recorder;
}

void blis_recorder_free(blis_recorder *recorder) {
  if (recorder == NULL) {
    return;
  }
  blis_alloc alloc = recorder->alloc;
  blis_array_deinit(&alloc, &recorder->records);
  blis_intern_free(recorder->reasons);
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
