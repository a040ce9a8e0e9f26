#include "results/analysis/run_trace.h"

#include "base/invariant.h"
#include "workload/trace/tools/tools.h"

typedef struct joining {
  const blis_alloc *alloc;
  const blis_recorder *recorder; /* records are ordered by arrival, then number */
  size_t next;                   /* records before this index arrived earlier */
} joining;

/*
 * Finds the record of a request, if it has one. Call it in order of arrival.
 */
static bool find_record(joining *j, const blis_request *request, blis_record *record) {
  size_t count = blis_recorder_count(j->recorder);
  while (j->next < count &&
         blis_recorder_record(j->recorder, j->next).arrival_us < request->arrival_us) {
    j->next++;
  }
  size_t low = j->next;
  size_t high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    *record = blis_recorder_record(j->recorder, middle);
    if (record->arrival_us == request->arrival_us && record->number < request->number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == count) {
    return false;
  }
  *record = blis_recorder_record(j->recorder, low);
  return record->arrival_us == request->arrival_us && record->number == request->number;
}

/* Keeps the requests that have a record. */
static blis_status keep_recorded(joining *j, const blis_workload *requests, blis_workload **kept,
                                 blis_error *error) {
  size_t count = blis_workload_count(requests);
  size_t words = blis_trace_mark_words(count);
  uint64_t *marks = blis_alloc_zeroed(j->alloc, words, sizeof *marks);
  BLIS_TRY_NEW(marks, error);
  for (size_t i = 0; i < count; i++) {
    blis_record record;
    if (find_record(j, blis_workload_request(requests, i), &record)) {
      blis_trace_mark(marks, i);
    }
  }
  const blis_trace_edit edit = {.kind = BLIS_TRACE_FILTER, .marks = marks};
  blis_status status = blis_trace_apply(j->alloc, requests, &edit, kept, error);
  blis_alloc_free(j->alloc, marks, words * sizeof *marks);
  return status;
}

static blis_trace_outcome outcome_of(const blis_record *record) {
  blis_trace_outcome outcome = {.status = BLIS_TRACE_INCOMPLETE};
  if (blis_record_is_completed(record)) {
    outcome.status = BLIS_TRACE_OK;
  } else if (record->state == BLIS_REQUEST_TIMED_OUT) {
    outcome.status = BLIS_TRACE_TIMEOUT;
  }
  if (record->ttft_us >= 0) {
    outcome.first_chunk_us = record->arrival_us + record->ttft_us;
    outcome.last_chunk_us = outcome.first_chunk_us + record->itl_sum_us;
  }
  return outcome;
}

static blis_status write_kept(joining *j, const char *path, const blis_workload *kept,
                              const blis_trace_write_options *options, blis_error *error) {
  size_t count = blis_workload_count(kept);
  blis_trace_outcome *outcomes = blis_alloc_zeroed(j->alloc, count + 1, sizeof *outcomes);
  BLIS_TRY_NEW(outcomes, error);
  j->next = 0;
  for (size_t i = 0; i < count; i++) {
    blis_record record;
    bool is_there = find_record(j, blis_workload_request(kept, i), &record);
    BLIS_ASSERT(is_there);
    outcomes[i] = outcome_of(&record);
  }
  blis_trace_write_options all = *options;
  all.outcomes = outcomes;
  all.renumber = true;
  blis_status status = blis_trace_write(j->alloc, path, kept, &all, error);
  blis_alloc_free(j->alloc, outcomes, (count + 1) * sizeof *outcomes);
  return status;
}

blis_status blis_run_trace_write(const blis_alloc *alloc, const char *path,
                                 const blis_workload *requests, const blis_recorder *recorder,
                                 const blis_trace_write_options *options, blis_error *error) {
  joining j = {.alloc = alloc, .recorder = recorder};
  blis_workload *kept;
  BLIS_TRY(keep_recorded(&j, requests, &kept, error));
  blis_status status = write_kept(&j, path, kept, options, error);
  blis_workload_free(kept);
  return status;
}
