/* trace_fixture.h - reading traces, well and badly, for tests of formats. */
#ifndef BLIS_TESTS_TRACE_FIXTURE_H
#define BLIS_TESTS_TRACE_FIXTURE_H

#include "check.h"
#include "temp_file.h"
#include "workload/trace/read/trace.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { OOM_ATTEMPTS = 5000 };

static inline blis_workload *read_with(const char *path, const blis_trace_options *options) {
  blis_alloc heap = blis_alloc_heap();
  blis_error error = {0};
  blis_workload *workload = NULL;
  CHECK_OK(blis_trace_read(&heap, path, options, &workload, &error), &error);
  return workload;
}

static inline blis_workload *read_trace(const char *path) {
  return read_with(path, NULL);
}

static inline const char *text_of(const blis_workload *workload, uint32_t id) {
  return blis_intern_text(blis_workload_strings(workload), id);
}

/* A request in order of arrival; texts NULL = not checked. */
typedef struct expected_request {
  int64_t number;
  int64_t arrival_us;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  const char *session;
  int32_t round_index;
  const char *client;
} expected_request;

static inline void check_requests(const blis_workload *workload, const expected_request *expected,
                                  size_t count) {
  CHECK_EQ_I64(blis_workload_count(workload), count);
  for (size_t i = 0; i < count; i++) {
    const blis_request *request = blis_workload_request(workload, i);
    CHECK_EQ_I64(request->number, expected[i].number);
    CHECK_EQ_I64(request->arrival_us, expected[i].arrival_us);
    CHECK_EQ_I64(request->prompt_tokens, expected[i].prompt_tokens);
    CHECK_EQ_I64(request->output_tokens, expected[i].output_tokens);
    CHECK_EQ_I64(request->max_output_tokens, expected[i].output_tokens);
    CHECK_EQ_I64(request->round_index, expected[i].round_index);
    if (expected[i].session != NULL) {
      CHECK_STR(text_of(workload, request->session), expected[i].session);
    }
    if (expected[i].client != NULL) {
      CHECK_STR(text_of(workload, request->client), expected[i].client);
    }
  }
}

/* A trace's file, and part of what is said about it. */
typedef struct bad_trace {
  const char *content;
  const char *message;
} bad_trace;

static inline void check_refused(const char *name, const bad_trace *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_error error = {0};
    blis_workload *workload = NULL;
    const char *path = temp_file(name, cases[i].content);
    CHECK(blis_trace_read(&alloc, path, NULL, &workload, &error) != BLIS_OK);
    CHECK_CONTAINS(error.message, cases[i].message);
    CHECK(workload == NULL);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

static inline blis_status read_with_failure_at(const char *path, long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_error error;
  blis_workload *workload = NULL;
  blis_status status = blis_trace_read(&alloc, path, NULL, &workload, &error);
  blis_workload_free(workload);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status;
}

/* Every allocation fails once; the reader says so and leaves nothing behind. */
static inline void check_out_of_memory(const char *path) {
  long request = 1;
  while (read_with_failure_at(path, request) != BLIS_OK) {
    request++;
    CHECK(request < OOM_ATTEMPTS);
  }
  CHECK(request > 8);
}

#endif
