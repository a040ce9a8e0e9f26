/* TraceV2: rows, headers, where the two files are, and every check. */
#include "workload/trace/read/trace.h"

#include "check.h"
#include "temp_file.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static blis_error error;
static blis_alloc heap;

static blis_workload *read_trace(const char *path, const blis_trace_options *options) {
  blis_workload *workload = NULL;
  CHECK_OK(blis_trace_read(&heap, path, options, &workload, &error), &error);
  return workload;
}

static const char *text_of(const blis_workload *workload, uint32_t id) {
  return blis_intern_text(blis_workload_strings(workload), id);
}

/* number, arrival, prompt, output */
typedef struct expected_row {
  int64_t number;
  int64_t arrival_us;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
} expected_row;

static void check_rows(const blis_workload *workload, const expected_row *rows, size_t count) {
  CHECK_EQ_I64(blis_workload_count(workload), count);
  for (size_t i = 0; i < count; i++) {
    const blis_request *request = blis_workload_request(workload, i);
    CHECK_EQ_I64(request->number, rows[i].number);
    CHECK_EQ_I64(request->arrival_us, rows[i].arrival_us);
    CHECK_EQ_I64(request->prompt_tokens, rows[i].prompt_tokens);
    CHECK_EQ_I64(request->output_tokens, rows[i].output_tokens);
    CHECK_EQ_I64(request->max_output_tokens, rows[i].output_tokens);
  }
}

/* Counts and times as recorded from a replay by BLIS. */

static void generated_rows_have_the_prefix_of_their_group(void) {
  static const expected_row rows[] = {
      {0, 500000, 53, 1}, {1, 1000000, 60, 1}, {2, 1500000, 50, 3}, {3, 2000000, 54, 7}};
  blis_workload *workload = read_trace("tests/data/tracev2/t1.csv", NULL);
  check_rows(workload, rows, COUNT(rows));
  for (size_t i = 0; i < COUNT(rows); i++) {
    const blis_request *request = blis_workload_request(workload, i);
    CHECK(request->shared_tokens == 32 && request->segment_count == 1);
    CHECK(request->prefix_tokens == 32);
    CHECK_STR(text_of(workload, request->prefix_group), "shared");
    CHECK_STR(text_of(workload, request->client), "distribution");
    CHECK_EQ_I64(request->deadline_us, request->arrival_us + 300000000);
  }
  blis_workload_free(workload);
}

static void a_prefix_needs_a_group(void) {
  blis_workload *workload = read_trace("tests/data/tracev2/mt.csv", NULL);
  CHECK_EQ_I64(blis_workload_count(workload), 15);
  const blis_request *request = blis_workload_request(workload, 0);
  CHECK(request->prompt_tokens == 30 && request->segment_count == 0);
  CHECK_EQ_I64(request->prefix_tokens, 40);
  request = blis_workload_request(workload, 2);
  CHECK(request->prompt_tokens == 109 && request->round_index == 1);
  CHECK_STR(text_of(workload, request->session), "sess_3732988374295573383");
  CHECK_STR(text_of(workload, request->tenant), "ten");
  CHECK_STR(text_of(workload, request->slo_class), "critical");
  blis_workload_free(workload);

  static const expected_row rows[] = {{0, 0, 80, 4},      {1, 30000, 80, 4},  {2, 60000, 80, 4},
                                      {3, 154692, 80, 4}, {4, 191346, 80, 4}, {5, 215684, 80, 4},
                                      {6, 309053, 80, 4}};
  workload = read_trace("tests/data/tracev2/cct.csv", NULL);
  check_rows(workload, rows, COUNT(rows));
  CHECK_EQ_I64(blis_workload_request(workload, 0)->shared_tokens, 50);
  CHECK_EQ_I64(blis_workload_request(workload, 3)->shared_tokens, 0);
  blis_workload_free(workload);
}

static void names_may_be_quoted(void) {
  blis_workload *workload = read_trace("tests/data/tracev2/adt.csv", NULL);
  CHECK_EQ_I64(blis_workload_count(workload), 3);
  const blis_request *request = blis_workload_request(workload, 1);
  CHECK_STR(text_of(workload, request->client), "a,\"x");
  CHECK(request->prompt_tokens == 1 && request->arrival_us == 1000000);
  blis_workload_free(workload);
}

static void observed_rows_are_put_on_the_clock_of_their_deadlines(void) {
  /* send - arrival is smallest in the third row: the start of the clock. */
  static const expected_row rows[] = {{1, 174499, 70, 4},
                                      {2, 454369, 70, 4},
                                      {3, 459732, 70, 4},
                                      {4, 696050, 70, 4},
                                      {5, 880612, 70, 4}};
  blis_workload *workload = read_trace("tests/data/tracev2/o.csv", NULL);
  check_rows(workload, rows, COUNT(rows));
  CHECK_EQ_I64(blis_workload_request(workload, 2)->deadline_us, 60459732);
  blis_workload_free(workload);

  static const expected_row epoch_rows[] = {{1, INT64_C(1795239660800254), 70, 4},
                                            {2, INT64_C(1795239661080124), 70, 4},
                                            {3, INT64_C(1795239661085487), 70, 4},
                                            {4, INT64_C(1795239661321805), 70, 4},
                                            {5, INT64_C(1795239661506367), 70, 4}};
  blis_trace_options options = {.keep_epoch = true};
  workload = read_trace("tests/data/tracev2/o.csv", &options);
  check_rows(workload, epoch_rows, COUNT(epoch_rows));
  blis_workload_free(workload);
}

static void measured_input_counts_without_a_group(void) {
  static const expected_row rows[] = {
      {0, INT64_C(1795239704361144), 70, 10},  {1, INT64_C(1795239704516688), 70, 10},
      {2, INT64_C(1795239704534019), 109, 10}, {3, INT64_C(1795239704648216), 109, 10},
      {4, INT64_C(1795239704666510), 150, 10}, {5, INT64_C(1795239704780125), 150, 10}};
  blis_trace_options options = {.keep_epoch = true};
  blis_workload *workload = read_trace("tests/data/tracev2/os.csv", &options);
  check_rows(workload, rows, COUNT(rows));
  blis_workload_free(workload);
}

static void either_file_or_their_stem_may_be_given(void) {
  static const char *const paths[] = {"tests/data/tracev2/t1", "tests/data/tracev2/t1.csv",
                                      "tests/data/tracev2/t1.yaml"};
  for (size_t i = 0; i < COUNT(paths); i++) {
    for (int named = 0; named < 2; named++) {
      blis_trace_options options = {.format = named ? "tracev2" : NULL};
      blis_workload *workload = read_trace(paths[i], &options);
      CHECK_EQ_I64(blis_workload_count(workload), 4);
      blis_workload_free(workload);
    }
  }
  blis_trace_options options = {.header_path = "tests/data/tracev2/o.yaml"};
  blis_workload_free(read_trace("tests/data/tracev2/t1", &options));
  options.header_path = "tests/data/tracev2/no.yaml";
  blis_workload *workload;
  CHECK_STATUS(blis_trace_read(&heap, "tests/data/tracev2/t1", &options, &workload, &error),
               BLIS_ERR_IO);
  CHECK_CONTAINS(error.message, "tests/data/tracev2/no.yaml");
}

#define HEADER "trace_version: 3\ntime_unit: microseconds\nmode: generated\n"

/* Writes both files and returns the path of the data. */
static const char *write_trace(const char *header, const char *data) {
  temp_file("t.yaml", header);
  return temp_file("t.csv", data);
}

static void columns_are_found_by_name(void) {
  blis_workload *workload =
      read_trace(write_trace(HEADER, "output_tokens,slo_target_us,prefix_group,arrival_time_us,"
                                     "extra,request_id,input_tokens,prefix_length\r\n"
                                     "3,100,g,20,x,7,10,0\r\n"
                                     "\r\n"
                                     "4,0,g,10,x,5,11,64,more,fields\r\n"
                                     "5,0,g,30,x,6,12,99\r\n"),
                 NULL);
  /* The first length of the group, 64, holds for all its rows. */
  static const expected_row rows[] = {{5, 10, 75, 4}, {7, 20, 74, 3}, {6, 30, 76, 5}};
  check_rows(workload, rows, COUNT(rows));
  CHECK_EQ_I64(blis_workload_request(workload, 2)->prefix_tokens, 99);
  blis_workload_free(workload);
}

/* A limit of 0 is one that a request may have: it generates nothing. */
static void a_limit_may_be_zero(void) {
  blis_workload *workload =
      read_trace(write_trace(HEADER, "request_id,arrival_time_us,input_tokens,output_tokens,"
                                     "max_output_tokens\n"
                                     "0,10,5,0,0\n"
                                     "1,20,5,3,8\n"),
                 NULL);
  CHECK_EQ_I64(blis_workload_request(workload, 0)->output_tokens, 0);
  CHECK_EQ_I64(blis_workload_request(workload, 0)->max_output_tokens, 0);
  CHECK_EQ_I64(blis_workload_request(workload, 1)->max_output_tokens, 8);
  blis_workload_free(workload);
}

/* What one row of a valid trace becomes, and part of what is said about it. */
typedef struct bad_row {
  const char *name;
  const char *value;
  const char *message;
} bad_row;

static const bad_row bad_rows[] = {
    {"request_id", "-1", "column 'request_id': invalid value '-1'"},
    {"request_id", "4", "column 'request_id': '4' is given twice"},
    {"request_id", "one", "'one' is not a number"},
    {"round_index", "x", "column 'round_index': 'x'"},
    {"prefix_length", "-2", "column 'prefix_length': invalid value '-2'"},
    {"streaming", "maybe", "column 'streaming': 'maybe'"},
    {"input_tokens", "-30", "column 'input_tokens': invalid value '-30'"},
    {"input_tokens", "9999999999", "column 'input_tokens': invalid value '9999999999'"},
    {"input_tokens", "", "column 'input_tokens': '' is empty"},
    {"output_tokens", "1.5", "'1.5' is not a whole number"},
    {"text_tokens", "-1", "column 'text_tokens': invalid value '-1'"},
    {"image_tokens", "-1", "column 'image_tokens': invalid value '-1'"},
    {"audio_tokens", "-1", "column 'audio_tokens': invalid value '-1'"},
    {"video_tokens", "-1", "column 'video_tokens': invalid value '-1'"},
    {"reason_ratio", "1.1", "column 'reason_ratio': invalid value '1.1'"},
    {"reason_ratio", "nan", "column 'reason_ratio': 'nan'"},
    {"deadline_us", "-1", "column 'deadline_us': invalid value '-1'"},
    {"deadline_us", "99", "column 'deadline_us': '99' is before"},
    {"slo_target_us", "-1", "column 'slo_target_us': invalid value '-1'"},
    {"server_input_tokens", "-1", "column 'server_input_tokens': invalid value '-1'"},
    {"arrival_time_us", "-1", "column 'arrival_time_us': invalid value '-1'"},
    {"num_chunks", "-1", "column 'num_chunks': invalid value '-1'"},
    {"vllm_priority", "-1", "column 'vllm_priority': invalid value '-1'"},
    {"think_time_us", "-1", "column 'think_time_us': invalid value '-1'"},
};

static const char *const all_columns[] = {
    "request_id",   "client_id",     "round_index",   "prefix_length",       "streaming",
    "input_tokens", "output_tokens", "text_tokens",   "image_tokens",        "audio_tokens",
    "video_tokens", "reason_ratio",  "deadline_us",   "server_input_tokens", "arrival_time_us",
    "send_time_us", "num_chunks",    "vllm_priority", "slo_target_us",       "think_time_us"};

/* Row 5 of a file whose other rows are good; one field is replaced. */
static const char *write_bad_row(const bad_row *bad) {
  char data[4096] = "";
  size_t length = 0;
  for (int row = -1; row < 5; row++) {
    for (size_t i = 0; i < COUNT(all_columns); i++) {
      const char *column = all_columns[i];
      char value[32];
      snprintf(value, sizeof value, "%d",
               strcmp(column, "request_id") == 0        ? 10 - row
               : strcmp(column, "arrival_time_us") == 0 ? 100
                                                        : 0);
      const char *shown = row < 0 ? column : value;
      if (row == 4 && strcmp(column, bad->name) == 0) {
        shown = bad->value;
      }
      if (row == 3 && strcmp(column, "request_id") == 0) {
        shown = "4";
      }
      if (row >= 0 && strcmp(column, "think_time_us") == 0 && row < 4) {
        shown = ""; /* allowed: 0 */
      }
      length +=
          (size_t)snprintf(data + length, sizeof data - length, "%s%s", i > 0 ? "," : "", shown);
    }
    length += (size_t)snprintf(data + length, sizeof data - length, "\n");
  }
  return write_trace(HEADER, data);
}

static void wrong_fields_are_named(void) {
  for (size_t i = 0; i < COUNT(bad_rows); i++) {
    blis_workload *workload;
    CHECK_STATUS(blis_trace_read(&heap, write_bad_row(&bad_rows[i]), NULL, &workload, &error),
                 BLIS_ERR_PARSE);
    CHECK_CONTAINS(error.message, bad_rows[i].message);
    CHECK_CONTAINS(error.message, "t.csv:6:");
  }
  bad_row good = {"input_tokens", "0", NULL};
  blis_workload_free(read_trace(write_bad_row(&good), NULL));
}

#define DATA "request_id,arrival_time_us,input_tokens,output_tokens\n"

typedef struct bad_trace {
  const char *header;
  const char *data;
  const char *message;
} bad_trace;

static void wrong_files_are_named(void) {
  static const bad_trace cases[] = {
      {HEADER, DATA "0,1,2\n",
       "t.csv:2: the row has 3 fields; the header has "
       "4"},
      {HEADER, DATA "0,1,2,3\n1,2,3", "t.csv:3: the row has 3 fields"},
      {HEADER, DATA, "the trace has no rows"},
      {HEADER, "request_id,arrival_time_us,output_tokens\n0,1,2\n", "input_tokens"},
      {HEADER "speed: 3\n", DATA "0,1,2,3\n", "t.yaml:4: unknown key 'speed'"},
      {HEADER "mod: real\n", DATA "0,1,2,3\n", "did you mean 'mode'?"},
      {HEADER "server:\n  modle: x\n", DATA "0,1,2,3\n",
       "t.yaml:5: unknown key 'modle' in the header of a trace; did you mean "
       "'model'?"},
      {HEADER "goodput_slo_targets:\n  gold:\n    ttft: 3\n", DATA "0,1,2,3\n",
       "t.yaml:6: unknown key 'ttft'"},
      {HEADER "kv_offload:\n  secondary_tiers: 3\n", DATA "0,1,2,3\n",
       "t.yaml:5: key 'secondary_tiers'"},
      {HEADER "network: 3\n", DATA "0,1,2,3\n", "t.yaml:4: key 'network'"},
      {HEADER "warm_up_requests: x\n", DATA "0,1,2,3\n", "t.yaml:4: key 'warm_up_requests'"},
      {HEADER "session_context_growth: fast\n", DATA "0,1,2,3\n",
       "t.yaml:4: key 'session_context_growth': 'fast' is unknown; "
       "expected "
       "'' or 'accumulate'"},
      {"trace_version: 3\ntime_unit: ms\n", DATA "0,1,2,3\n",
       "t.yaml:2: key 'time_unit': 'ms' is unknown; expected "
       "'microseconds' or 'us'"},
      {"trace_version: [\n", DATA "0,1,2,3\n", "t.yaml:"},
      {"trace_version: 3\ntrace_version: 3\n", DATA "0,1,2,3\n", "t.yaml:2:"},
      {"", DATA "0,1,2,3\n", "t.yaml"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_workload *workload;
    const char *path = write_trace(cases[i].header, cases[i].data);
    CHECK_STATUS(blis_trace_read(&alloc, path, NULL, &workload, &error), BLIS_ERR_PARSE);
    CHECK_CONTAINS(error.message, cases[i].message);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

static void odd_headers_become_notes(void) {
  const char *path = write_trace("trace_version: 9\ntime_unit: us\n"
                                 "session_context_growth: accumulate\n",
                                 DATA "0,1,0,0\n");
  blis_workload *workload = read_trace(path, NULL);
  CHECK_EQ_I64(blis_workload_note_count(workload), 2);
  CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                 "t.yaml:1: trace_version is 9; versions up to 3 are known");
  CHECK_CONTAINS(blis_workload_note_text(workload, 1), "accumulate");
  CHECK_EQ_I64(blis_workload_request(workload, 0)->prompt_tokens, 0);
  blis_workload_free(workload);
}

static void every_header_of_the_format_is_accepted(void) {
  const char *path =
      write_trace(HEADER "created_at: \"2026-11-21T05:41:01Z\"\n"
                         "warm_up_requests: 1\nworkload_seed: 5\nworkload_spec: x.yaml\n"
                         "server:\n  type: vllm\n  model: m\n  tensor_parallel: 2\n"
                         "network: {}\n"
                         "goodput_slo_targets:\n  batch:\n    itl_ms: 13\n  critical:\n"
                         "    ttft_ms: 30\n    e2e_ms: 900.5\n"
                         "observed_kv_metrics:\n  source: tiered\n  hit_rate: 0.4\n"
                         "  block_hits: 24\n  block_queries: 60\n"
                         "kv_offload:\n  cpu_bytes_to_use: 1000000000\n"
                         "  eviction_policy: lru\n  offload_prompt_only: true\n"
                         "  secondary_tiers:\n    - type: fs\n      direct_io: true\n"
                         "      read_bandwidth: 7000\n",
                  DATA "0,1,2,3\n");
  blis_workload *workload = read_trace(path, NULL);
  CHECK_EQ_I64(blis_workload_note_count(workload), 0);
  blis_workload_free(workload);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(generated_rows_have_the_prefix_of_their_group);
  RUN(a_prefix_needs_a_group);
  RUN(names_may_be_quoted);
  RUN(observed_rows_are_put_on_the_clock_of_their_deadlines);
  RUN(measured_input_counts_without_a_group);
  RUN(either_file_or_their_stem_may_be_given);
  RUN(columns_are_found_by_name);
  RUN(a_limit_may_be_zero);
  RUN(wrong_fields_are_named);
  RUN(wrong_files_are_named);
  RUN(odd_headers_become_notes);
  RUN(every_header_of_the_format_is_accepted);
  return check_done();
}
