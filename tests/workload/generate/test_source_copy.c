/* A source that keeps what it gives. */
#include "workload/generate/source_copy.h"

#include "check.h"
#include "same_workload.h"
#include "trace_fixture.h"

static blis_error error;
static blis_alloc heap;

/* A list, and one follow-up on its first request, at the end of that. */
typedef struct looped {
  blis_workload_cursor cursor;
  blis_request_source list;
  blis_segment segment;
} looped;

static blis_status next(void *state, blis_request *request, bool *done, blis_error *problem) {
  looped *l = state;
  return l->list.next(l->list.state, request, done, problem);
}

static blis_status ended(void *state, const blis_request *request,
                         const blis_request_outcome *outcome, blis_request *follow_up,
                         bool *has_follow_up, blis_error *problem) {
  (void)problem;
  looped *l = state;
  *has_follow_up = request->number == 0;
  if (*has_follow_up) {
    l->segment = (blis_segment){.stream = 77, .length_tokens = 3};
    *follow_up = (blis_request){.number = -1,
                                .arrival_us = outcome->end_us,
                                .prompt_tokens = 9,
                                .segments = &l->segment,
                                .segment_count = 1,
                                .shared_tokens = 3};
  }
  return BLIS_OK;
}

static blis_request_source start(looped *l, const blis_workload *workload) {
  l->list = blis_workload_source(workload, &l->cursor);
  blis_request_source source = l->list;
  source.next = next;
  source.ended = ended;
  source.state = l;
  return source;
}

/* Takes everything; the first request ends when the last one arrives. */
static blis_status drain(const blis_request_source *source, const blis_workload *workload) {
  size_t count = blis_workload_count(workload);
  bool done = false;
  while (!done) {
    blis_request request;
    BLIS_TRY(source->next(source->state, &request, &done, &error));
  }
  const blis_request_outcome outcome = {.end_us =
                                            blis_workload_request(workload, count - 1)->arrival_us};
  for (size_t i = 0; i < count; i++) {
    blis_request follow_up;
    bool has_follow_up;
    BLIS_TRY(source->ended(source->state, blis_workload_request(workload, i), &outcome, &follow_up,
                           &has_follow_up, &error));
  }
  return BLIS_OK;
}

static void a_list_is_copied(void) {
  blis_workload *workload = read_trace("tests/data/mooncake.jsonl");
  blis_workload_cursor cursor;
  blis_request_source list = blis_workload_source(workload, &cursor);
  blis_source_copy *copy = blis_source_copy_new(&heap, &list);
  CHECK(copy != NULL);
  blis_request_source source = blis_source_copy_source(copy);
  CHECK(source.ended == NULL);
  bool done = false;
  while (!done) {
    blis_request request;
    CHECK_OK(source.next(source.state, &request, &done, &error), &error);
  }
  blis_workload *got;
  CHECK_OK(blis_source_copy_get(copy, &heap, &got, &error), &error);
  check_same(got, workload);
  blis_workload_free(got);
  blis_source_copy_free(copy);
  blis_workload_free(workload);
}

static void follow_ups_come_behind(void) {
  blis_workload *workload = read_trace("tests/data/mooncake.jsonl");
  size_t count = blis_workload_count(workload);
  looped l;
  blis_request_source original = start(&l, workload);
  blis_source_copy *copy = blis_source_copy_new(&heap, &original);
  blis_request_source source = blis_source_copy_source(copy);
  CHECK_OK(drain(&source, workload), &error);
  blis_workload *got;
  CHECK_OK(blis_source_copy_get(copy, &heap, &got, &error), &error);
  CHECK_EQ_I64(blis_workload_count(got), count + 1);
  const blis_request *last = blis_workload_request(got, count);
  CHECK_EQ_I64(last->number, -1);
  CHECK_EQ_I64(last->arrival_us, blis_workload_request(got, count - 1)->arrival_us);
  CHECK_EQ_I64(last->segments[0].stream, 77);
  blis_workload_free(got);
  blis_source_copy_free(copy);
  blis_workload_free(workload);
}

static void out_of_memory_is_an_error(void) {
  blis_workload *workload = read_trace("tests/data/mooncake.jsonl");
  blis_status status = BLIS_ERR_NOMEM;
  for (long request = 1; status != BLIS_OK; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    looped l;
    blis_request_source original = start(&l, workload);
    blis_source_copy *copy = blis_source_copy_new(&alloc, &original);
    blis_workload *got = NULL;
    if (copy != NULL) {
      blis_request_source source = blis_source_copy_source(copy);
      status = drain(&source, workload);
      if (status == BLIS_OK) {
        status = blis_source_copy_get(copy, &alloc, &got, &error);
      }
    }
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    blis_workload_free(got);
    blis_source_copy_free(copy);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  blis_workload_free(workload);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(a_list_is_copied);
  RUN(follow_ups_come_behind);
  RUN(out_of_memory_is_an_error);
  return check_done();
}
