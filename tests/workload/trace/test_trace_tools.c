/* Workloads made from others. */
#include "workload/trace/tools/tools.h"

#include <math.h>

#include "base/random.h"
#include "same_workload.h"
#include "trace_fixture.h"

static blis_error error;
static blis_alloc heap;

typedef struct row {
  int64_t arrival_us;
  const char *session;
  int32_t round_index;
  const char *group;
  uint64_t stream; /* of 32 tokens; 0 = none */
} row;

static uint32_t text(blis_workload *workload, const char *content) {
  uint32_t id = 0;
  if (content != NULL) {
    CHECK(blis_workload_text(workload, content, strlen(content), &id) == BLIS_OK);
  }
  return id;
}

static blis_workload *make(const row *rows, size_t count) {
  blis_workload *workload = blis_workload_new(&heap);
  CHECK(workload != NULL);
  for (size_t i = 0; i < count; i++) {
    blis_segment segment = {.stream = rows[i].stream, .length_tokens = 32};
    bool shares = rows[i].stream != 0;
    blis_request request = {.number = (int64_t)i,
                            .arrival_us = rows[i].arrival_us,
                            .deadline_us = rows[i].arrival_us + 1000,
                            .prompt_tokens = 64,
                            .tenant = text(workload, "t"),
                            .session = text(workload, rows[i].session),
                            .round_index = rows[i].round_index,
                            .prefix_group = text(workload, rows[i].group),
                            .segments = &segment,
                            .segment_count = shares,
                            .shared_tokens = shares ? 32 : 0};
    CHECK(blis_workload_add(workload, &request) == BLIS_OK);
  }
  CHECK(blis_workload_note(workload, "a note") == BLIS_OK);
  CHECK(blis_workload_describe(workload, "rows") == BLIS_OK);
  blis_workload_let_sessions_grow(workload);
  CHECK(blis_workload_seal(workload) == BLIS_OK);
  return workload;
}

/* Numbers and arrivals in order, and deadlines 1 ms behind; frees it. */
static void check_rows(blis_workload *workload, const int64_t (*expected)[2], size_t count) {
  CHECK_EQ_I64(blis_workload_count(workload), count);
  for (size_t i = 0; i < count; i++) {
    const blis_request *request = blis_workload_request(workload, i);
    CHECK_EQ_I64(request->number, expected[i][0]);
    CHECK_EQ_I64(request->arrival_us, expected[i][1]);
    CHECK_EQ_I64(request->deadline_us, expected[i][1] + 1000);
  }
  blis_workload_free(workload);
}

static const row some_rows[] = {{.arrival_us = 0},
                                {.arrival_us = 1000},
                                {.arrival_us = 1000},
                                {.arrival_us = 5000},
                                {.arrival_us = 8001}};

static blis_status cut(const blis_workload *workload, const blis_trace_cut_options *options,
                       blis_workload **part) {
  const blis_trace_edit edit = {.kind = BLIS_TRACE_CUT, .cut = *options};
  return blis_trace_apply(&heap, workload, &edit, part, &error);
}

static blis_status scale(const blis_workload *workload, double factor, blis_workload **scaled) {
  const blis_trace_edit edit = {.kind = BLIS_TRACE_SCALE, .factor = factor};
  return blis_trace_apply(&heap, workload, &edit, scaled, &error);
}

static blis_status warp(const blis_workload *workload, const blis_trace_warp_point *points,
                        size_t count, blis_workload **warped) {
  const blis_trace_edit edit = {.kind = BLIS_TRACE_WARP, .points = points, .point_count = count};
  return blis_trace_apply(&heap, workload, &edit, warped, &error);
}

/* Cut. */

static void cuts_are_windows_and_counts(void) {
  static const struct {
    blis_trace_cut_options options;
    size_t count;
    int64_t rows[5][2];
  } cases[] = {
      {{0}, 5, {{0, 0}, {1, 1000}, {2, 1000}, {3, 5000}, {4, 8001}}},
      {{.start_us = 1000, .end_us = 5000}, 2, {{1, 1000}, {2, 1000}}},
      {{.start_us = 1001, .end_us = 5001}, 1, {{3, 5000}}},
      {{.start_us = 1000, .skip = 1, .limit = 2}, 2, {{2, 1000}, {3, 5000}}},
      {{.skip = 3, .from_zero = true}, 2, {{3, 0}, {4, 3001}}},
      {{.limit = 1}, 1, {{0, 0}}},
      {{.start_us = 9000}, 0, {{0}}},
  };
  blis_workload *workload = make(some_rows, COUNT(some_rows));
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_workload *part;
    CHECK_OK(cut(workload, &cases[i].options, &part), &error);
    CHECK_STR(blis_workload_description(part), "rows, cut");
    CHECK_STR(blis_workload_note_text(part, 0), "a note");
    CHECK(blis_workload_sessions_grow(part));
    check_rows(part, cases[i].rows, cases[i].count);
  }
  blis_workload_free(workload);
}

static void cuts_that_cannot_be_are_refused(void) {
  static const struct {
    blis_trace_cut_options options;
    const char *message;
  } cases[] = {
      {{.start_us = -1}, "start_us is -1; it must be at least 0"},
      {{.limit = -5}, "limit is -5; it must be at least 0"},
      {{.start_us = 7, .end_us = 7}, "end_us is 7; it must be after start_us, which is 7"},
  };
  blis_workload *workload = make(some_rows, COUNT(some_rows));
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_workload *part = NULL;
    CHECK_STATUS(cut(workload, &cases[i].options, &part), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].message);
    CHECK(part == NULL);
  }
  blis_workload_free(workload);
}

/* Filter. */

static void filters_keep_what_is_marked(void) {
  static const int64_t expected[][2] = {{1, 1000}, {3, 5000}};
  static const uint64_t marks[] = {1 << 1 | 1 << 3};
  const blis_trace_edit edit = {.kind = BLIS_TRACE_FILTER, .marks = marks};
  blis_workload *workload = make(some_rows, COUNT(some_rows));
  blis_workload *odd;
  CHECK_OK(blis_trace_apply(&heap, workload, &edit, &odd, &error), &error);
  CHECK_STR(blis_workload_description(odd), "rows, filtered");
  check_rows(odd, expected, COUNT(expected));
  blis_workload_free(workload);
}

/* Scale and warp. */

static void scaling_divides_times(void) {
  static const int64_t twice[][2] = {{0, 0}, {1, 500}, {2, 500}, {3, 2500}, {4, 4001}};
  static const int64_t third[][2] = {{0, 0}, {1, 3000}, {2, 3000}, {3, 15000}, {4, 24003}};
  blis_workload *workload = make(some_rows, COUNT(some_rows));
  blis_workload *scaled;
  CHECK_OK(scale(workload, 2, &scaled), &error);
  check_rows(scaled, twice, COUNT(twice));
  CHECK_OK(scale(workload, 1.0 / 3, &scaled), &error);
  check_rows(scaled, third, COUNT(third));
  CHECK_OK(scale(workload, 1, &scaled), &error);
  check_same(scaled, workload);
  blis_workload_free(scaled);
  static const double wrong[] = {0, -1, HUGE_VAL, NAN};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    CHECK_STATUS(scale(workload, wrong[i], &scaled), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, "it must be greater than 0");
  }
  CHECK_STATUS(scale(workload, 1e-300, &scaled), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "request 1, which arrives at 1000 us, would");
  blis_workload_free(workload);
}

static void warps_go_through_their_points(void) {
  static const blis_trace_warp_point points[] = {
      {1000, 0}, {3000, 1000}, {5000, 1000}, {7000, 9000}};
  static const row rows[] = {{.arrival_us = 1000}, {.arrival_us = 1500}, {.arrival_us = 3000},
                             {.arrival_us = 4999}, {.arrival_us = 5001}, {.arrival_us = 7000},
                             {.arrival_us = 7500}};
  static const int64_t expected[][2] = {{0, 0},    {1, 250},  {2, 1000}, {3, 1000},
                                        {4, 1004}, {5, 9000}, {6, 9500}};
  blis_workload *workload = make(rows, COUNT(rows));
  blis_workload *warped;
  CHECK_OK(warp(workload, points, COUNT(points), &warped), &error);
  check_rows(warped, expected, COUNT(expected));

  /* One point is a shift. */
  static const blis_trace_warp_point one[] = {{1200, 1100}};
  static const int64_t shifted[][2] = {{0, 900},  {1, 1400}, {2, 2900}, {3, 4899},
                                       {4, 4901}, {5, 6900}, {6, 7400}};
  CHECK_OK(warp(workload, one, 1, &warped), &error);
  check_rows(warped, shifted, COUNT(shifted));
  blis_workload_free(workload);
}

static void warps_that_cannot_be_are_refused(void) {
  static const struct {
    blis_trace_warp_point points[2];
    size_t count;
    const char *message;
  } cases[] = {
      {{{0, 0}}, 0, "a time warp needs at least one point"},
      {{{5, 0}, {5, 1}}, 2, "point 2 of a time warp is 5 us to 1 us, after"},
      {{{5, 3}, {6, 2}}, 2, "point 2 of a time warp is 6 us to 2 us, after"},
      {{{-5, 3}}, 1, "point 1 of a time warp is -5 us to 3 us; expected 0"},
      {{{5, INT64_MAX}}, 1, "point 1 of a time warp"},
      {{{900, 0}}, 1, "request 0, which arrives at 0 us, would move to -900"},
  };
  blis_workload *workload = make(some_rows, COUNT(some_rows));
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_workload *warped = NULL;
    CHECK_STATUS(warp(workload, cases[i].points, cases[i].count, &warped), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].message);
    CHECK(warped == NULL);
  }
  blis_workload_free(workload);
}

/* Cap. */

static void the_first_turns_are_kept(void) {
  row rows[15] = {{0}};
  size_t count = 0;
  /* Session A has turns 1 to 10, B 1 to 3, in between; one has no session. */
  for (int32_t turn = 1; turn <= 10; turn++) {
    rows[count++] = (row){.arrival_us = turn * 100, .session = "A", .round_index = turn};
    if (turn <= 3) {
      rows[count++] = (row){.arrival_us = turn * 100 + 50, .session = "B", .round_index = turn};
    }
  }
  rows[count++] = (row){.arrival_us = 5};
  blis_workload *workload = make(rows, count);
  blis_workload *capped;
  CHECK_OK(blis_trace_cap(&heap, workload, 8, &capped, &error), &error);
  CHECK_EQ_I64(blis_workload_count(capped), 8 + 3 + 1);
  for (size_t i = 0; i < blis_workload_count(capped); i++) {
    CHECK(blis_workload_request(capped, i)->round_index <= 8);
  }
  CHECK_STR(blis_workload_description(capped), "rows, capped");
  blis_workload_free(capped);
  CHECK_OK(blis_trace_cap(&heap, workload, 1, &capped, &error), &error);
  static const int64_t expected[][2] = {{13, 5}, {0, 100}, {1, 150}};
  check_rows(capped, expected, COUNT(expected));
  CHECK_STATUS(blis_trace_cap(&heap, workload, 0, &capped, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "max_turns is 0; it must be at least 1");
  blis_workload_free(workload);
}

static void turns_count_before_arrivals(void) {
  static const row rows[] = {{100, "A", 3, NULL, 0},
                             {200, "A", 1, NULL, 0},
                             {300, "A", 2, NULL, 0},
                             {300, "A", 2, NULL, 0},
                             {400, "A", 0, NULL, 0}};
  static const int64_t expected[][2] = {{1, 200}, {2, 300}, {4, 400}};
  blis_workload *workload = make(rows, COUNT(rows));
  blis_workload *capped;
  CHECK_OK(blis_trace_cap(&heap, workload, 3, &capped, &error), &error);
  check_rows(capped, expected, COUNT(expected));
  blis_workload_free(workload);
}

/* A cap of 1 to 4 turns by counting, for every request, those before it. */
static void caps_agree_with_counting(void) {
  for (int64_t seed = 0; seed < 50; seed++) {
    static const char *const sessions[] = {NULL, "A", "B", "C"};
    blis_random random;
    blis_random_init(&random, seed);
    row rows[40] = {{0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
      rows[i] = (row){.arrival_us = blis_random_intn(&random, 100),
                      .session = sessions[blis_random_intn(&random, 4)],
                      .round_index = blis_random_intn(&random, 6)};
    }
    blis_workload *workload = make(rows, COUNT(rows));
    int64_t cap = 1 + seed % 4;
    blis_workload *capped;
    CHECK_OK(blis_trace_cap(&heap, workload, cap, &capped, &error), &error);
    size_t next = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
      const blis_request *request = blis_workload_request(workload, i);
      int64_t before = 0;
      for (size_t k = 0; k < COUNT(rows); k++) {
        const blis_request *other = blis_workload_request(workload, k);
        before += other->session == request->session &&
                  (other->round_index < request->round_index ||
                   (other->round_index == request->round_index && k < i));
      }
      if (request->session == 0 || before < cap) {
        CHECK_EQ_I64(blis_workload_request(capped, next++)->number, request->number);
      }
    }
    CHECK_EQ_I64(blis_workload_count(capped), next);
    blis_workload_free(capped);
    blis_workload_free(workload);
  }
}

/* Merge. */

static const row left_rows[] = {
    {100, "s", 0, "g", 7}, {200, "s", 1, "g", 7}, {300, NULL, 0, "h", 9}};
static const row right_rows[] = {
    {50, "x", 0, NULL, 0}, {200, "s", 0, "g", 7}, {400, "s#2", 1, "g", 9}};

static blis_workload *merge_two(const blis_workload *left, const blis_workload *right, bool same) {
  const blis_workload *const both[] = {left, right};
  blis_workload *merged;
  CHECK_OK(blis_trace_merge(&heap, both, 2, same, &merged, &error), &error);
  CHECK_STR(blis_workload_description(merged), "2 workloads merged");
  CHECK_EQ_I64(blis_workload_note_count(merged), 2);
  return merged;
}

static void merged_workloads_have_nothing_in_common(void) {
  blis_workload *left = make(left_rows, COUNT(left_rows));
  blis_workload *right = make(right_rows, COUNT(right_rows));
  blis_workload *merged = merge_two(left, right, false);
  static const struct {
    int64_t arrival_us;
    const char *session;
    const char *group;
    uint64_t stream;
  } expected[] = {{50, "x", "", 0},       {100, "s", "g", 1}, {200, "s", "g", 1},
                  {200, "s#2", "g#2", 2}, {300, "", "h", 3},  {400, "s#2#2", "g#2", 4}};
  CHECK_EQ_I64(blis_workload_count(merged), COUNT(expected));
  for (size_t i = 0; i < COUNT(expected); i++) {
    const blis_request *request = blis_workload_request(merged, i);
    CHECK_EQ_I64(request->number, i);
    CHECK_EQ_I64(request->arrival_us, expected[i].arrival_us);
    CHECK_STR(text_of(merged, request->session), expected[i].session);
    CHECK_STR(text_of(merged, request->prefix_group), expected[i].group);
    CHECK_STR(text_of(merged, request->tenant), "t");
    CHECK_EQ_I64(request->segment_count, expected[i].stream != 0);
    if (expected[i].stream != 0) {
      CHECK_EQ_I64(request->segments[0].stream, expected[i].stream);
    }
  }
  blis_workload_free(merged);
  blis_workload_free(left);
  blis_workload_free(right);
}

static void merged_parts_are_the_whole(void) {
  blis_workload *whole = read_trace("tests/data/mooncake.jsonl");
  const blis_workload *parts[3];
  blis_workload *owned[3];
  for (size_t i = 0; i < 3; i++) {
    blis_trace_cut_options options = {.skip = (int64_t)i * 11, .limit = 11};
    CHECK_OK(cut(whole, &options, &owned[i]), &error);
    parts[i] = owned[i];
  }
  blis_workload *merged;
  CHECK_OK(blis_trace_merge(&heap, parts, 3, true, &merged, &error), &error);
  check_same(merged, whole);
  blis_workload_free(merged);
  for (size_t i = 0; i < 3; i++) {
    blis_workload_free(owned[i]);
  }
  blis_workload_free(whole);
  CHECK_STATUS(blis_trace_merge(&heap, NULL, 0, true, &merged, &error), BLIS_ERR_INVALID);
}

/* Memory. */

typedef blis_status tool(const blis_alloc *alloc, const blis_workload *workload,
                         blis_workload **result);

static blis_status cut_some(const blis_alloc *alloc, const blis_workload *workload,
                            blis_workload **result) {
  const blis_trace_edit edit = {.kind = BLIS_TRACE_CUT, .cut = {.skip = 1}};
  return blis_trace_apply(alloc, workload, &edit, result, &error);
}

static blis_status cap_some(const blis_alloc *alloc, const blis_workload *workload,
                            blis_workload **result) {
  return blis_trace_cap(alloc, workload, 1, result, &error);
}

static blis_status merge_some(const blis_alloc *alloc, const blis_workload *workload,
                              blis_workload **result) {
  const blis_workload *const both[] = {workload, workload};
  return blis_trace_merge(alloc, both, 2, false, result, &error);
}

static void out_of_memory_is_an_error(void) {
  static tool *const tools[] = {cut_some, cap_some, merge_some};
  blis_workload *workload = make(left_rows, COUNT(left_rows));
  for (size_t i = 0; i < COUNT(tools); i++) {
    blis_status status;
    long request = 1;
    do {
      blis_alloc_probe memory = {.fail_at = request++};
      blis_alloc alloc = blis_alloc_probed(&memory);
      blis_workload *result = NULL;
      status = tools[i](&alloc, workload, &result);
      CHECK((status == BLIS_OK) == (result != NULL));
      blis_workload_free(result);
      CHECK_EQ_I64(memory.live_bytes, 0);
    } while (status == BLIS_ERR_NOMEM && request < OOM_ATTEMPTS);
    CHECK_STATUS(status, BLIS_OK);
    CHECK(request > 6);
  }
  blis_workload_free(workload);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(cuts_are_windows_and_counts);
  RUN(cuts_that_cannot_be_are_refused);
  RUN(filters_keep_what_is_marked);
  RUN(scaling_divides_times);
  RUN(warps_go_through_their_points);
  RUN(warps_that_cannot_be_are_refused);
  RUN(the_first_turns_are_kept);
  RUN(turns_count_before_arrivals);
  RUN(caps_agree_with_counting);
  RUN(merged_workloads_have_nothing_in_common);
  RUN(merged_parts_are_the_whole);
  RUN(out_of_memory_is_an_error);
  return check_done();
}
