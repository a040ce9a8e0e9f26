#include "workload/trace/tools/tools.h"

#include <stdlib.h>

#include "base/array.h"

static blis_status copy_edited(const blis_workload *from, const blis_trace_edit *edit,
                               blis_workload *to, blis_error *error) {
  BLIS_TRY_MEM(blis_workload_take_texts(to, from), error);
  blis__trace_editing editing = {.edit = edit};
  for (size_t i = 0; i < blis_workload_count(from); i++) {
    blis_request request = *blis_workload_request(from, i);
    bool keep;
    BLIS_TRY(blis__trace_edit_next(&editing, &request, &keep, error));
    if (keep && blis_workload_add(to, &request) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  BLIS_TRY_MEM(blis_workload_describe(to, "%s, %s", blis_workload_description(from),
                                      blis__trace_edit_name(edit)),
               error);
  BLIS_TRY_MEM(blis_workload_seal(to), error);
  return BLIS_OK;
}

blis_status blis_trace_apply(const blis_alloc *alloc, const blis_workload *workload,
                             const blis_trace_edit *edit, blis_workload **edited,
                             blis_error *error) {
  BLIS_TRY(blis__trace_edit_check(edit, error));
  blis_workload *made = blis_workload_new(alloc);
  BLIS_TRY_NEW(made, error);
  blis_status status = copy_edited(workload, edit, made, error);
  if (status != BLIS_OK) {
    blis_workload_free(made);
    return status;
  }
  *edited = made;
  return BLIS_OK;
}

/* Cap. */

typedef struct turn {
  uint32_t session;
  int32_t round_index;
  size_t index; /* in order of arrival */
} turn;

static int compare_turns(const void *a, const void *b) {
  const turn *left = a;
  const turn *right = b;
  if (left->session != right->session) {
    return left->session < right->session ? -1 : 1;
  }
  if (left->round_index != right->round_index) {
    return left->round_index < right->round_index ? -1 : 1;
  }
  return (left->index > right->index) - (left->index < right->index);
}

/* Marks all requests except those beyond the cap. */
static blis_status mark_capped(const blis_alloc *alloc, const blis_workload *workload,
                               int64_t max_turns, uint64_t *marks) {
  BLIS_ARRAY(turn) turns = {0};
  size_t count = blis_workload_count(workload);
  BLIS_TRY(blis_array_reserve(alloc, &turns, count));
  for (size_t i = 0; i < count; i++) {
    const blis_request *request = blis_workload_request(workload, i);
    blis_trace_mark(marks, i);
    if (request->session != 0) {
      turns.items[turns.count++] = (turn){request->session, request->round_index, i};
    }
  }
  if (turns.count > 0) {
    qsort(turns.items, turns.count, sizeof *turns.items, compare_turns);
  }
  int64_t taken = 0;
  for (size_t i = 0; i < turns.count; i++) {
    bool goes_on = i > 0 && turns.items[i].session == turns.items[i - 1].session;
    taken = goes_on ? taken + 1 : 1;
    size_t index = turns.items[i].index;
    if (taken > max_turns) {
      marks[index / 64] &= ~(UINT64_C(1) << index % 64);
    }
  }
  blis_array_deinit(alloc, &turns);
  return BLIS_OK;
}

blis_status blis_trace_cap(const blis_alloc *alloc, const blis_workload *workload,
                           int64_t max_turns, blis_workload **capped, blis_error *error) {
  if (max_turns < 1) {
    return blis_fail(error, BLIS_ERR_INVALID, "max_turns is %lld; it must be at least 1",
                     (long long)max_turns);
  }
  size_t words = blis_trace_mark_words(blis_workload_count(workload));
  uint64_t *marks = blis_alloc_zeroed(alloc, words, sizeof *marks);
  BLIS_TRY_NEW(marks, error);
  const blis_trace_edit edit = {.kind = BLIS_TRACE_CAP, .marks = marks};
  blis_status status = mark_capped(alloc, workload, max_turns, marks) == BLIS_OK
                           ? blis_trace_apply(alloc, workload, &edit, capped, error)
                           : blis_fail_nomem(error);
  blis_alloc_free(alloc, marks, words * sizeof *marks);
  return status;
}
