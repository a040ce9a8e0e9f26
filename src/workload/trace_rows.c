#include "workload/trace_rows.h"

#include <stdlib.h>

blis_status blis__trace_text(const blis__trace_job *job, blis_slice text,
                             uint32_t *id, blis_error *error) {
  *id = 0;
  if (text.length > 0 && blis_workload_text(job->workload, text.data,
                                            text.length, id) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

void blis__trace_start_at_zero(blis__trace_rows *rows) {
  int64_t start_us = INT64_MAX;
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->items[i].arrival_us < start_us) {
      start_us = rows->items[i].arrival_us;
    }
  }
  for (size_t i = 0; i < rows->count; i++) {
    rows->items[i].arrival_us -= start_us;
  }
}

typedef struct turn {
  uint32_t session;
  int64_t arrival_us;
  size_t row;
} turn;

static int compare_turns(const void *a, const void *b) {
  const turn *left = a;
  const turn *right = b;
  if (left->session != right->session) {
    return left->session < right->session ? -1 : 1;
  }
  if (left->arrival_us != right->arrival_us) {
    return left->arrival_us < right->arrival_us ? -1 : 1;
  }
  return (left->row > right->row) - (left->row < right->row);
}

blis_status blis__trace_number_rounds(const blis_alloc *alloc,
                                      blis__trace_rows *rows,
                                      blis_error *error) {
  BLIS_ARRAY(turn) turns = {0};
  if (blis_array_reserve(alloc, &turns, rows->count) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  for (size_t i = 0; i < rows->count; i++) {
    const blis_request *row = &rows->items[i];
    if (row->session != 0) {
      turns.items[turns.count++] = (turn){row->session, row->arrival_us, i};
    }
  }
  if (turns.count > 0) {
    qsort(turns.items, turns.count, sizeof *turns.items, compare_turns);
  }
  int32_t round = 0;
  for (size_t i = 0; i < turns.count; i++) {
    bool goes_on =
        i > 0 && turns.items[i].session == turns.items[i - 1].session;
    round = goes_on ? round + 1 : 0;
    rows->items[turns.items[i].row].round_index = round;
  }
  blis_array_deinit(alloc, &turns);
  return BLIS_OK;
}

blis_status blis__trace_add_rows(const blis__trace_job *job,
                                 const blis__trace_rows *rows,
                                 const blis_segment *segments,
                                 blis_error *error) {
  for (size_t i = 0; i < rows->count; i++) {
    blis_request request = rows->items[i];
    if (request.segment_count > 0) {
      request.segments = segments;
      segments += request.segment_count;
    }
    if (blis_workload_add(job->workload, &request) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  return BLIS_OK;
}

blis_status blis__trace_note_failed(const blis__trace_job *job, int64_t failed,
                                    blis_error *error) {
  if (failed > 0 &&
      blis_workload_note(job->workload,
                         "%s: left out are requests that failed, since it is "
                         "not known what they would have produced: %lld",
                         job->path, (long long)failed) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}
