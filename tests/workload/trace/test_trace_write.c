/* Writing traces: the bytes of BLIS, and what is written reads back. */
#include "workload/trace/write/write.h"

#include "base/format/csv.h"
#include "base/format/input.h"
#include "base/random.h"
#include "same_workload.h"
#include "trace_fixture.h"

#define V2 "tests/data/tracev2/"

enum { MAX_FILE = 1 << 20, RANDOM_CASES = 300 };

static blis_error error;
static blis_alloc heap;

static void write_trace(const char *path, const blis_workload *workload,
                        const blis_trace_write_options *options) {
  CHECK_OK(blis_trace_write(&heap, path, workload, options, &error), &error);
}

static void read_file(const char *path, blis_buffer *content) {
  blis_buffer_init(content, &heap);
  CHECK_OK(blis_input_read_file(path, MAX_FILE, content, &error), &error);
}

static void check_same_file(const char *path, const char *expected_path) {
  blis_buffer content;
  blis_buffer expected;
  read_file(path, &content);
  read_file(expected_path, &expected);
  CHECK_STR(blis_buffer_text(&content), blis_buffer_text(&expected));
  blis_buffer_deinit(&content);
  blis_buffer_deinit(&expected);
}

/* The bytes of BLIS. */

/* What the data of a trace say about its run. */
static blis_trace_outcome *read_outcomes(const char *path, size_t count) {
  blis_csv_options options = {.has_header = true};
  blis_csv *csv;
  blis_trace_outcome *outcomes = calloc(count, sizeof *outcomes);
  CHECK_OK(blis_csv_open(&heap, path, &options, &csv, &error), &error);
  for (size_t i = 0; i < count; i++) {
    bool has_row;
    CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
    CHECK(has_row);
    blis_slice status = blis_csv_field(csv, blis_csv_column(csv, "status"));
    outcomes[i].status = blis_slice_equals(status, "ok")        ? BLIS_TRACE_OK
                         : blis_slice_equals(status, "timeout") ? BLIS_TRACE_TIMEOUT
                                                                : BLIS_TRACE_INCOMPLETE;
    CHECK_OK(blis_csv_int64(csv, blis_csv_column(csv, "first_chunk_time_us"), 0, INT64_MAX,
                            &outcomes[i].first_chunk_us, &error),
             &error);
    CHECK_OK(blis_csv_int64(csv, blis_csv_column(csv, "last_chunk_time_us"), 0, INT64_MAX,
                            &outcomes[i].last_chunk_us, &error),
             &error);
  }
  blis_csv_close(csv);
  return outcomes;
}

static void generated_traces_are_those_of_blis(void) {
  static const struct {
    const char *data;
    const char *header;
    int64_t seed;
  } cases[] = {{V2 "t1.csv", V2 "t1.yaml", 42},
               {V2 "mt.csv", V2 "mt.yaml", 5},
               {V2 "cct.csv", V2 "cct.yaml", 5},
               {V2 "adt.csv", V2 "adt.yaml", 3}};
  const char *data = temp_file("out.csv", "");
  const char *header = temp_file("out.yaml", "");
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_workload *workload = read_trace(cases[i].data);
    blis_trace_outcome *outcomes = read_outcomes(cases[i].data, blis_workload_count(workload));
    blis_trace_write_options options = {
        .outcomes = outcomes, .has_seed = true, .seed = cases[i].seed};
    write_trace(data, workload, &options);
    check_same_file(data, cases[i].data);
    check_same_file(header, cases[i].header);
    free(outcomes);
    blis_workload_free(workload);
  }
}

static void headers_have_targets(void) {
  static const blis_goodput_target targets[] = {
      {.slo_class = "batch", .itl_ms = 13},
      {.slo_class = "critical", .ttft_ms = 30, .e2e_ms = 900.5},
      {.slo_class = "on", .ttft_ms = 1e-7},
      {.slo_class = "two words: \"x\"", .ttft_ms = 1}};
  blis_trace_write_options options = {
      .targets = targets, .target_count = COUNT(targets), .is_replay = true};
  const char *header = temp_file("out.yaml", "");
  temp_file("out.csv", "");
  blis_workload *workload = read_trace(V2 "t1");
  write_trace(header, workload, &options);
  check_same_file(header, temp_file("expected.yaml", "trace_version: 3\n"
                                                     "time_unit: microseconds\n"
                                                     "mode: replayed\n"
                                                     "warm_up_requests: 0\n"
                                                     "goodput_slo_targets:\n"
                                                     "    batch:\n"
                                                     "        itl_ms: 13\n"
                                                     "    critical:\n"
                                                     "        ttft_ms: 30\n"
                                                     "        e2e_ms: 900.5\n"
                                                     "    \"on\":\n"
                                                     "        ttft_ms: 1e-07\n"
                                                     "    \"two words: \\\"x\\\"\":\n"
                                                     "        ttft_ms: 1\n"));
  blis_workload *again = read_trace(header);
  check_same(again, workload);
  CHECK_EQ_I64(blis_workload_target_count(workload), 0);
  CHECK_EQ_I64(blis_workload_target_count(again), COUNT(targets));
  for (size_t i = 0; i < COUNT(targets); i++) {
    const blis_goodput_target *target = &blis_workload_targets(again)[i];
    CHECK_STR(target->slo_class, targets[i].slo_class);
    CHECK_EQ_DOUBLE(target->ttft_ms, targets[i].ttft_ms);
    CHECK_EQ_DOUBLE(target->itl_ms, targets[i].itl_ms);
    CHECK_EQ_DOUBLE(target->e2e_ms, targets[i].e2e_ms);
  }
  blis_workload_free(again);
  blis_workload_free(workload);
}

static void compact_rows_are_compact(void) {
  const char *path = temp_file("out.jsonl", "");
  blis_workload *workload = read_trace("tests/data/traces/routesim.jsonl");
  write_trace(path, workload, NULL);
  check_same_file(path, temp_file("expected.jsonl",
                                  "{\"ts\":0,\"prompt_tokens\":512,\"gen_tokens\":128,"
                                  "\"prefix_hash\":\"system-a\",\"prefix_len\":256,"
                                  "\"conversation_id\":\"c1\",\"turn\":0}\n"
                                  "{\"ts\":5,\"prompt_tokens\":300,\"gen_tokens\":64,"
                                  "\"prefix_hash\":\"system-a\",\"prefix_len\":256,"
                                  "\"conversation_id\":\"c2\",\"turn\":0}\n"
                                  "{\"id\":3,\"ts\":12,\"arrival_us\":12500,\"prompt_tokens\":"
                                  "100,\"gen_tokens\":8,"
                                  "\"prefix_hash\":\"system-b\",\"prefix_len\":100,"
                                  "\"lora_adapter\":\"sql\"}\n"
                                  "{\"id\":4,\"ts\":20,\"prompt_tokens\":40,\"gen_tokens\":0}\n"
                                  "{\"id\":2,\"ts\":95,\"prompt_tokens\":800,\"gen_tokens\":32,"
                                  "\"prefix_hash\":\"system-a\",\"prefix_len\":400,"
                                  "\"conversation_id\":\"c1\",\"turn\":1}\n"));
  blis_workload_free(workload);
}

/* Round trips. */

static void check_round_trip(const blis_workload *workload, const char *path) {
  write_trace(path, workload, NULL);
  blis_workload *again = read_trace(path);
  check_same(again, workload);
  blis_workload_free(again);
}

static void traces_of_every_format_read_back(void) {
  static const char *const sources[] = {"tests/data/mooncake.jsonl",
                                        "tests/data/azure_2023.csv",
                                        "tests/data/traces/bailian.jsonl",
                                        "tests/data/traces/burstgpt_2.csv",
                                        "tests/data/traces/routesim.jsonl",
                                        "tests/data/traces/llmservingsim.jsonl",
                                        V2 "cct",
                                        V2 "os"};
  const char *compact = temp_file("out.jsonl", "");
  const char *data = temp_file("out.csv", "");
  temp_file("out.yaml", "");
  for (size_t i = 0; i < COUNT(sources); i++) {
    blis_workload *workload = read_trace(sources[i]);
    check_round_trip(workload, compact);
    check_round_trip(workload, data);
    blis_workload_free(workload);
  }
}

static uint32_t draw(blis_random *random, int32_t n) {
  return (uint32_t)blis_random_intn(random, n);
}

static uint32_t draw_text(blis_random *random, blis_workload *workload) {
  static const char *const texts[] = {
      "", "a", "b,\"c\"", " space", "line\nend", "\\.", "\xc3\xa9t\xc3\xa9", "<x&y>", "12", "null"};
  const char *text = texts[draw(random, COUNT(texts))];
  uint32_t id;
  CHECK(blis_workload_text(workload, text, strlen(text), &id) == BLIS_OK);
  return id;
}

/* kind 0: nothing shared; 1: prefixes of groups; 2: of any length; 3: all. */
static void draw_content(blis_random *random, blis_workload *workload, uint32_t kind,
                         blis_segment segments[3], blis_request *request) {
  if (kind == 1 || kind == 2) {
    char name[2] = {(char)('p' + draw(random, 3)), '\0'};
    CHECK(blis_workload_text(workload, name, 1, &request->prefix_group) == BLIS_OK);
    segments[0] =
        (blis_segment){.stream = UINT64_MAX - (uint64_t)name[0],
                       .length_tokens = kind == 1 ? 40 + (uint32_t)name[0] : 1 + draw(random, 200)};
    request->prefix_tokens = segments[0].length_tokens;
    request->segment_count = kind == 1 || draw(random, 4) > 0;
  } else if (kind == 3) {
    request->segment_count = draw(random, 4);
    for (uint32_t i = 0; i < request->segment_count; i++) {
      segments[i] = (blis_segment){.stream = draw(random, 5),
                                   .offset_tokens = draw(random, 2) * 16,
                                   .length_tokens = 1 + draw(random, 50)};
    }
    request->prefix_group = draw_text(random, workload);
    request->prefix_tokens = request->segment_count > 0 ? draw(random, 2) : 7;
  }
  for (uint32_t i = 0; i < request->segment_count; i++) {
    request->shared_tokens += segments[i].length_tokens;
  }
  request->segments = segments;
  request->shares_output = kind == 3 && request->segment_count > 0 && draw(random, 3) == 0;
  request->shares_last_output = request->shares_output && draw(random, 2) == 0;
  request->prompt_tokens = request->shared_tokens;
  if (!request->shares_output) {
    request->prompt_tokens += request->prefix_tokens + draw(random, 99);
  }
}

static void draw_request(blis_random *random, blis_workload *workload, uint32_t kind,
                         uint32_t features, blis_request *request) {
  blis_segment segments[3];
  draw_content(random, workload, kind, segments, request);
  request->arrival_us = blis_random_int63(random) >> (13 + draw(random, 50));
  request->output_tokens = draw(random, 1000);
  request->max_output_tokens = request->output_tokens + (features & 1);
  request->session = draw_text(random, workload);
  request->round_index = (int32_t)draw(random, 9) - 2;
  request->client = draw_text(random, workload);
  request->tenant = draw_text(random, workload);
  request->slo_class = draw_text(random, workload);
  request->model = draw_text(random, workload);
  if ((features & 2) != 0) {
    request->adapter = draw_text(random, workload);
    request->cascade = draw_text(random, workload);
    request->mean_logprob = draw_text(random, workload);
    request->has_think_time = draw(random, 2) == 0;
    request->think_us = request->has_think_time ? draw(random, 99) : 0;
  }
  if ((features & 4) != 0) {
    request->slo_target_us = draw(random, 1000);
    request->deadline_us = request->arrival_us + 5;
    request->reason_ratio = blis_random_float64(random);
    request->is_streaming = draw(random, 2) == 0;
    request->text_tokens = draw(random, 3);
    request->image_tokens = draw(random, 3);
    request->audio_tokens = draw(random, 3);
    request->video_tokens = draw(random, 3);
  }
  CHECK(blis_workload_add(workload, request) == BLIS_OK);
}

static void any_workload_reads_back(void) {
  const char *compact = temp_file("out.jsonl", "");
  const char *data = temp_file("out.csv", "");
  temp_file("out.yaml", "");
  for (int64_t seed = 0; seed < RANDOM_CASES; seed++) {
    blis_random random;
    blis_random_init(&random, seed);
    blis_workload *workload = blis_workload_new(&heap);
    uint32_t count = 1 + draw(&random, 20);
    for (uint32_t i = 0; i < count; i++) {
      blis_request request = {.number = (int64_t)(count - i) * 3};
      draw_request(&random, workload, (uint32_t)seed % 4, (uint32_t)seed / 4 % 8, &request);
    }
    CHECK(blis_workload_seal(workload) == BLIS_OK);
    check_round_trip(workload, compact);
    check_round_trip(workload, data);
    blis_workload_free(workload);
  }
}

/* With outcomes, ids are places in the file and numbers have a column. */
static void numbers_of_a_run_read_back(void) {
  blis_workload *workload = blis_workload_new(&heap);
  static const int64_t numbers[] = {4, -1, 7, -2};
  for (size_t i = 0; i < COUNT(numbers); i++) {
    blis_request request = {.number = numbers[i], .prompt_tokens = 5};
    CHECK(blis_workload_add(workload, &request) == BLIS_OK);
  }
  CHECK(blis_workload_seal(workload) == BLIS_OK);
  blis_trace_outcome outcomes[COUNT(numbers)] = {{.status = BLIS_TRACE_OK}};
  blis_trace_write_options options = {.outcomes = outcomes, .renumber = true};
  const char *path = temp_file("out.csv", "");
  temp_file("out.yaml", "");
  write_trace(path, workload, &options);
  blis_workload *again = read_trace(path);
  check_same(again, workload);
  blis_workload_free(again);
  blis_workload_free(workload);
}

static void packed_traces_read_back(void) {
  blis_workload *workload = read_trace("tests/data/mooncake.jsonl");
  check_round_trip(workload, temp_file("out.jsonl.gz", ""));
  check_round_trip(workload, temp_file("out.jsonl.zst", ""));
  temp_file("out.yaml", "");
  check_round_trip(workload, temp_file("out.csv.gz", ""));
  check_round_trip(workload, temp_file("out.csv.zst", ""));
  blis_workload_free(workload);
}

/* Refusals. */

static void check_refused_path(const char *path, const blis_trace_write_options *options,
                               const char *message) {
  blis_workload *workload = read_trace(V2 "t1");
  CHECK(blis_trace_write(&heap, path, workload, options, &error) != BLIS_OK);
  CHECK_CONTAINS(error.message, message);
  blis_workload_free(workload);
}

static void paths_must_tell_the_format(void) {
  check_refused_path("out.txt", NULL,
                     "out.txt: cannot tell the trace format from the name "
                     "'.txt'; expected .jsonl (routesim)");
  check_refused_path("out.txt.gz", NULL, "cannot tell the trace format from the name '.txt'");
  blis_trace_write_options pair = {.format = "tracev2"};
  check_refused_path("-", &pair, "cannot go to standard output");
  check_refused_path("folder/", NULL, "needs a file name");
  blis_trace_write_options options = {.format = "azure"};
  check_refused_path("out.csv", &options,
                     "cannot write traces in the format 'azure'; known are tracev2, routesim");
  check_refused_path("no/such/folder/out.jsonl", NULL,
                     "no/such/folder/out.jsonl: cannot be written");
  check_refused_path("no/such/folder/out", NULL, "no/such/folder/out.csv: cannot be written");
  CHECK_EQ_I64(blis_trace_write_format_count(), 2);
  CHECK_STR(blis_trace_write_format_name(0), "tracev2");
}

static void ids_must_differ(void) {
  const char *path = temp_file("out.jsonl", "old\n");
  static const int64_t numbers[][3] = {{0, 7, 7}, {2, 1, -1}};
  static const char *const messages[] = {"the number 7 of a request is given "
                                         "twice",
                                         "the number -1 of a request is "
                                         "negative"};
  for (size_t i = 0; i < COUNT(numbers); i++) {
    blis_workload *workload = blis_workload_new(&heap);
    for (size_t k = 0; k < 3; k++) {
      blis_request request = {.number = numbers[i][k], .prompt_tokens = 1};
      CHECK(blis_workload_add(workload, &request) == BLIS_OK);
    }
    CHECK(blis_workload_seal(workload) == BLIS_OK);
    CHECK_STATUS(blis_trace_write(&heap, path, workload, NULL, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, messages[i]);
    check_same_file(path, temp_file("expected", "old\n"));
    blis_trace_write_options options = {.renumber = true};
    write_trace(path, workload, &options);
    blis_workload *again = read_trace(path);
    CHECK_EQ_I64(blis_workload_request(again, 2)->number, 2);
    blis_workload_free(again);
    blis_workload_free(workload);
    path = temp_file("out.jsonl", "old\n");
  }
}

static void out_of_memory_leaves_the_old_files(void) {
  static const char *const sources[] = {"tests/data/mooncake.jsonl", V2 "t1"};
  const char *const targets[] = {temp_file("out.jsonl", "old\n"), temp_file("out.csv", "old\n")};
  const char *header = temp_file("out.yaml", "old\n");
  const char *old = temp_file("expected", "old\n");
  for (size_t i = 0; i < COUNT(sources); i++) {
    blis_workload *workload = read_trace(sources[i]);
    blis_status status;
    long request = 1;
    do {
      blis_alloc_probe memory = {.fail_at = request++};
      blis_alloc alloc = blis_alloc_probed(&memory);
      status = blis_trace_write(&alloc, targets[i], workload, NULL, &error);
      CHECK_EQ_I64(memory.live_bytes, 0);
      if (status != BLIS_OK) {
        check_same_file(targets[i], old);
        check_same_file(header, old);
      }
    } while (status != BLIS_OK && request < OOM_ATTEMPTS);
    CHECK(request > 5);
    blis_workload_free(workload);
    if (i == 0) {
      temp_file("out.yaml", "old\n");
    }
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(generated_traces_are_those_of_blis);
  RUN(headers_have_targets);
  RUN(compact_rows_are_compact);
  RUN(traces_of_every_format_read_back);
  RUN(any_workload_reads_back);
  RUN(numbers_of_a_run_read_back);
  RUN(packed_traces_read_back);
  RUN(paths_must_tell_the_format);
  RUN(ids_must_differ);
  RUN(out_of_memory_leaves_the_old_files);
  return check_done();
}
