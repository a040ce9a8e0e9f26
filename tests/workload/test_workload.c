/* The list of requests: order, readers, copies; and its statistics. */
#include "workload/workload.h"

#include "base/random.h"
#include "check.h"
#include "workload/statistics.h"

enum { REQUESTS = 500, OOM_ATTEMPTS = 1000 };

static blis_error error;

static uint32_t text_of(blis_workload *workload, const char *text) {
  uint32_t id;
  CHECK_STATUS(blis_workload_text(workload, text, strlen(text), &id), BLIS_OK);
  return id;
}

static blis_status add(blis_workload *workload, int64_t number, int64_t arrival_us,
                       const blis_segment *segments, uint32_t segment_count, uint32_t own_tokens) {
  blis_request request = {.number = number,
                          .arrival_us = arrival_us,
                          .segments = segments,
                          .segment_count = segment_count,
                          .output_tokens = 10};
  for (uint32_t i = 0; i < segment_count; i++) {
    request.shared_tokens += segments[i].length_tokens;
  }
  request.prompt_tokens = request.shared_tokens + own_tokens;
  return blis_workload_add(workload, &request);
}

/* Arrivals in any order with many ties; request i has i % 4 segments. */
static blis_status build(const blis_alloc *alloc, blis_workload **result) {
  blis_workload *workload = blis_workload_new(alloc);
  if (workload == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *result = workload;
  blis_random random;
  blis_random_init(&random, 3);
  for (uint32_t i = 0; i < REQUESTS; i++) {
    blis_segment segments[3];
    for (uint32_t k = 0; k < i % 4; k++) {
      segments[k] = (blis_segment){.stream = i, .length_tokens = k + 1};
    }
    BLIS_TRY(add(workload, i, blis_random_intn(&random, 50), segments, i % 4, 5));
  }
  uint32_t id;
  BLIS_TRY(blis_workload_text(workload, "tenant", 6, &id));
  BLIS_TRY(blis_workload_describe(workload, "%d random requests", REQUESTS));
  BLIS_TRY(blis_workload_note(workload, "note %d", 1));
  const blis_goodput_target target = {.slo_class = "batch", .e2e_ms = 9};
  BLIS_TRY(blis_workload_add_target(workload, &target));
  return blis_workload_seal(workload);
}

static void check_request(const blis_request *request) {
  uint32_t i = (uint32_t)request->number;
  CHECK_EQ_I64(request->segment_count, i % 4);
  for (uint32_t k = 0; k < i % 4; k++) {
    CHECK_EQ_I64(request->segments[k].stream, i);
    CHECK_EQ_I64(request->segments[k].length_tokens, k + 1);
  }
}

static void requests_are_sorted_stably(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_workload *workload = NULL;
  CHECK_STATUS(build(&alloc, &workload), BLIS_OK);
  CHECK_EQ_I64(blis_workload_count(workload), REQUESTS);
  for (size_t i = 0; i < REQUESTS; i++) {
    size_t place = blis_workload_added(workload, i);
    CHECK_EQ_I64(blis_workload_request(workload, place)->number, i);
    const blis_request *request = blis_workload_request(workload, i);
    check_request(request);
    if (i > 0) {
      const blis_request *before = blis_workload_request(workload, i - 1);
      CHECK(before->arrival_us < request->arrival_us ||
            (before->arrival_us == request->arrival_us && before->number < request->number));
    }
  }
  blis_workload_free(workload);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static int64_t read_all(const blis_request_source *source) {
  int64_t count = 0;
  for (;;) {
    blis_request request;
    bool done;
    CHECK_OK(source->next(source->state, &request, &done, &error), &error);
    if (done) {
      return count;
    }
    check_request(&request);
    count++;
  }
}

static void several_sources_read_one_workload(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_workload *workload = NULL;
  CHECK_STATUS(build(&alloc, &workload), BLIS_OK);
  blis_workload_cursor cursors[2];
  blis_request_source sources[2];
  for (int i = 0; i < 2; i++) {
    sources[i] = blis_workload_source(workload, &cursors[i]);
    CHECK_EQ_I64(sources[i].count, REQUESTS);
    CHECK(sources[i].strings == blis_workload_strings(workload));
  }
  blis_request request;
  bool done;
  CHECK_OK(sources[0].next(sources[0].state, &request, &done, &error), &error);
  CHECK(!done);
  CHECK_EQ_I64(read_all(&sources[1]), REQUESTS);
  CHECK_EQ_I64(read_all(&sources[0]), REQUESTS - 1);
  CHECK_EQ_I64(read_all(&sources[0]), 0);
  blis_workload_free(workload);
}

static void a_slice_keeps_everything(void) {
  static const size_t ranges[][3] = {/* first, limit, expected */
                                     {0, REQUESTS, REQUESTS}, {0, 20, 20},
                                     {490, 20, 10},           {REQUESTS, 5, 0},
                                     {SIZE_MAX, SIZE_MAX, 0}, {5, 0, 0}};
  blis_alloc alloc = blis_alloc_heap();
  blis_workload *workload = NULL;
  CHECK_STATUS(build(&alloc, &workload), BLIS_OK);
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    blis_workload *slice;
    CHECK_OK(blis_workload_slice(&alloc, workload, ranges[i][0], ranges[i][1], &slice, &error),
             &error);
    CHECK_EQ_I64(blis_workload_count(slice), ranges[i][2]);
    for (size_t k = 0; k < ranges[i][2]; k++) {
      const blis_request *request = blis_workload_request(slice, k);
      check_request(request);
      CHECK_EQ_I64(request->number, blis_workload_request(workload, ranges[i][0] + k)->number);
    }
    CHECK_STR(blis_intern_text(blis_workload_strings(slice), 1), "tenant");
    CHECK_STR(blis_workload_description(slice), "500 random requests");
    CHECK_EQ_I64(blis_workload_note_count(slice), 1);
    CHECK_STR(blis_workload_note_text(slice, 0), "note 1");
    CHECK_EQ_I64(blis_workload_target_count(slice), 1);
    CHECK_STR(blis_workload_targets(slice)[0].slo_class, "batch");
    if (ranges[i][2] > 0) {
      CHECK_EQ_I64(blis_workload_added(slice, 0), 0);
    }
    blis_workload_free(slice);
  }
  blis_workload_free(workload);
}

static void statistics_count_lengths_texts_and_reuse(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_workload *workload = blis_workload_new(&alloc);
  blis_segment segments[] = {{1, 0, 32}, {2, 0, 40}};
  blis_request request = {.tenant = text_of(workload, "a"),
                          .session = text_of(workload, "s"),
                          .segments = segments,
                          .segment_count = 2,
                          .shared_tokens = 72,
                          .prompt_tokens = 100,
                          .output_tokens = 10};
  CHECK_STATUS(blis_workload_add(workload, &request), BLIS_OK);
  request.arrival_us = 500000;
  request.number = 1;
  request.tenant = text_of(workload, "b");
  request.segment_count = 1; /* 32 tokens as before */
  request.shared_tokens = 32;
  request.output_tokens = 30;
  CHECK_STATUS(blis_workload_add(workload, &request), BLIS_OK);
  request.arrival_us = 1000000;
  request.number = 2;
  segments[1].stream = 3; /* 32 tokens as before, 40 new ones */
  request.segment_count = 2;
  request.shared_tokens = 72;
  request.prompt_tokens = 76;
  CHECK_STATUS(blis_workload_add(workload, &request), BLIS_OK);
  CHECK_STATUS(blis_workload_seal(workload), BLIS_OK);

  blis_workload_statistics s;
  CHECK_OK(blis_workload_measure(&alloc, workload, 16, &s, &error), &error);
  CHECK_EQ_I64(s.count, 3);
  CHECK_EQ_I64(s.last_arrival_us - s.first_arrival_us, 1000000);
  CHECK_EQ_DOUBLE(s.requests_per_sec, 2);
  CHECK_EQ_I64(s.prompt.sum, 276);
  CHECK_EQ_DOUBLE(s.prompt.mean, 92);
  CHECK(s.prompt.min == 76 && s.prompt.p50 == 100 && s.prompt.max == 100);
  CHECK(s.output.min == 10 && s.output.p50 == 30 && s.output.p99 == 30);
  CHECK_EQ_I64(s.reused_tokens, 64);
  CHECK_EQ_DOUBLE(s.reused_share, 64.0 / 276);
  CHECK_EQ_I64(s.shareable_blocks, 6);
  CHECK(s.tenants == 2 && s.sessions == 1 && s.models == 0);
  blis_workload_free(workload);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void percentiles_are_nearest_rank(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_workload *workload = blis_workload_new(&alloc);
  blis_workload_statistics s;
  for (uint32_t i = 0; i < 1000; i++) {
    CHECK_STATUS(add(workload, i, 0, NULL, 0, (i * 7 % 1000 + 1) * 1000), BLIS_OK);
  }
  CHECK_STATUS(blis_workload_seal(workload), BLIS_OK);
  CHECK_OK(blis_workload_measure(&alloc, workload, 16, &s, &error), &error);
  CHECK(s.prompt.min == 1000 && s.prompt.max == 1000000);
  CHECK_EQ_I64(s.prompt.p50, 500000);
  CHECK_EQ_I64(s.prompt.p90, 900000);
  CHECK_EQ_I64(s.prompt.p99, 990000);
  CHECK_EQ_DOUBLE(s.requests_per_sec, 0);
  blis_workload_free(workload);
}

static void an_empty_workload_has_statistics(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_workload *workload = blis_workload_new(&alloc);
  CHECK_STATUS(blis_workload_seal(workload), BLIS_OK);
  blis_workload_statistics s;
  CHECK_OK(blis_workload_measure(&alloc, workload, 16, &s, &error), &error);
  CHECK(s.count == 0 && s.prompt.max == 0 && s.reused_share == 0);
  blis_workload_free(workload);
}

static blis_status build_slice_and_measure(const blis_alloc *alloc, blis_workload **workload,
                                           blis_workload **slice) {
  blis_workload_statistics statistics;
  BLIS_TRY(build(alloc, workload));
  BLIS_TRY(blis_workload_slice(alloc, *workload, 10, 100, slice, &error));
  return blis_workload_measure(alloc, *slice, 2, &statistics, &error);
}

static void out_of_memory_is_an_error(void) {
  blis_status status = BLIS_ERR_NOMEM;
  long request = 1;
  for (; status != BLIS_OK; request++) {
    CHECK(request < OOM_ATTEMPTS);
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_workload *workload = NULL;
    blis_workload *slice = NULL;
    status = build_slice_and_measure(&alloc, &workload, &slice);
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    blis_workload_free(slice);
    blis_workload_free(workload);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(request > 20);
}

int main(void) {
  RUN(requests_are_sorted_stably);
  RUN(several_sources_read_one_workload);
  RUN(a_slice_keeps_everything);
  RUN(statistics_count_lengths_texts_and_reuse);
  RUN(percentiles_are_nearest_rank);
  RUN(an_empty_workload_has_statistics);
  RUN(out_of_memory_is_an_error);
  return check_done();
}
