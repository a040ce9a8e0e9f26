/* Traces that stay in their files: the same requests as of a list. */
#include "workload/trace/read/stream.h"

#include <inttypes.h>

#include "base/buffer.h"
#include "base/random.h"
#include "packed.h"
#include "same_workload.h"
#include "trace_fixture.h"
#include "workload/statistics.h"
#include "workload/trace/tools/tools.h"
#include "workload/trace/write/write.h"

enum { ROWS = CASES(300), LONG = 70000, FAULTS = 4000 };

static blis_alloc heap;
static blis_error error;

/* Files with random rows. */

typedef struct making {
  blis_buffer text;
  blis_random random;
  int64_t row;
  int64_t time_us;
  int64_t lateness_us; /* rows come up to so much too late */
} making;

static int64_t draw(making *m, int64_t count) {
  return (int64_t)blis_random_intn(&m->random, (int32_t)count);
}

/* The time of the next row, which may be earlier than the one before. */
static int64_t draw_time_us(making *m) {
  m->time_us += draw(m, 4) * 2500;
  int64_t late_us = m->lateness_us > 0 ? draw(m, m->lateness_us + 1) : 0;
  return late_us < m->time_us ? m->time_us - late_us : 0;
}

static void add_ids(making *m, int64_t count) {
  blis_buffer_string(&m->text, ", \"hash_ids\": [");
  for (int64_t i = 0; i < count; i++) {
    blis_buffer_format(&m->text, "%s%d", i > 0 ? ", " : "", (int)draw(m, 50));
  }
  blis_buffer_char(&m->text, ']');
}

static void mooncake(making *m) {
  int64_t tokens = draw(m, 3000);
  blis_buffer_format(&m->text,
                     "{\"timestamp\": %.3f, \"input_length\": %d, "
                     "\"output_length\": %d",
                     (double)draw_time_us(m) / 1e3, (int)tokens, (int)draw(m, 90));
  add_ids(m, draw(m, tokens / 512 + 1));
  blis_buffer_string(&m->text, "}\n");
}

static void azure(making *m) {
  if (m->row == 0) {
    blis_buffer_string(&m->text, "TIMESTAMP,ContextTokens,GeneratedTokens\n");
  }
  int64_t time_us = draw_time_us(m);
  blis_buffer_format(&m->text, "2023-11-16 18:%02d:%02d.%06d%d,%d,%d\n",
                     (int)(time_us / 60000000 % 60), (int)(time_us / 1000000 % 60),
                     (int)(time_us % 1000000), (int)draw(m, 10), (int)draw(m, 900),
                     (int)draw(m, 900));
}

#define V2                                                                                         \
  "request_id,client_id,tenant_id,slo_class,session_id,round_index,"                               \
  "prefix_group,prefix_length,streaming,input_tokens,output_tokens,"                               \
  "model,deadline_us,arrival_time_us,send_time_us,think_time_us%s\n"

static void tracev2_row(making *m, bool is_observed, bool has_segments) {
  if (m->row == 0) {
    blis_buffer_format(&m->text, V2, has_segments ? ",segments" : "");
  }
  int64_t time_us = draw_time_us(m);
  bool is_sent = draw(m, 4) > 0;
  int64_t epoch_us = INT64_C(1700000000000000);
  int64_t send_us = !is_sent ? 0 : is_observed ? epoch_us + time_us + draw(m, 900) : time_us;
  /* Ids that jump back and forth. */
  blis_buffer_format(
      &m->text,
      "%" PRId64 ",c%d,t%d,,s%d,%d,%s%d,%d,%s,%d,%d,,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s",
      m->row ^ 5, (int)draw(m, 3), (int)draw(m, 3), (int)draw(m, 20), (int)draw(m, 4),
      draw(m, 3) > 0 ? "g" : "h", (int)draw(m, 5), draw(m, 3) > 0 ? 0 : 16 + (int)draw(m, 50),
      draw(m, 2) ? "true" : "F", 40 + (int)draw(m, 500), (int)draw(m, 90),
      draw(m, 2) ? INT64_C(0) : time_us + 5000, time_us, send_us, draw(m, 2) ? "" : "700");
  if (has_segments) {
    blis_buffer_format(&m->text, ",%d:16 %d:8@%d%s", (int)draw(m, 9), (int)draw(m, 9),
                       (int)draw(m, 30), "");
  }
  blis_buffer_char(&m->text, '\n');
}

static void tracev2(making *m) {
  tracev2_row(m, false, false);
}

static void observed(making *m) {
  tracev2_row(m, true, false);
}

static void with_segments(making *m) {
  tracev2_row(m, false, true);
}

static void burstgpt(making *m) {
  if (m->row == 0) {
    blis_buffer_string(&m->text, "Timestamp,Session ID,Model,Request tokens,Response "
                                 "tokens\n");
  }
  blis_buffer_format(&m->text, "%.4f,%s%d,m%d,%d,%d\n", 7 + (double)draw_time_us(m) / 1e6,
                     draw(m, 4) > 0 ? "s" : "t", (int)draw(m, 30), (int)draw(m, 3),
                     (int)draw(m, 900), (int)draw(m, 8) * 30);
}

static void vidur(making *m) {
  if (m->row == 0) {
    blis_buffer_string(&m->text, "arrived_at,num_prefill_tokens,num_decode_tokens\n");
  }
  blis_buffer_format(&m->text, "%.6f,%d,%d\n", (double)draw_time_us(m) / 1e6, (int)draw(m, 900),
                     (int)draw(m, 90));
}

static void splitwise(making *m) {
  if (m->row == 0) {
    blis_buffer_string(&m->text, "arrival_timestamp,application_id,batch_size,"
                                 "prompt_size,token_size\n");
  }
  blis_buffer_format(&m->text, "%.6f,%d,1,%d,%d\n", (double)draw_time_us(m) / 1e6, (int)draw(m, 4),
                     (int)draw(m, 900), (int)draw(m, 90));
}

/* Parents may come later than their children, or never. */
static void bailian_row(making *m, bool has_turns, int64_t block_tokens) {
  int64_t tokens = draw(m, 3000);
  int64_t parent = draw(m, 3) == 0 ? -1 : m->row + 1 + draw(m, 9);
  blis_buffer_format(&m->text,
                     "{\"chat_id\": %" PRId64 ", \"parent_chat_id\": %" PRId64
                     ", \"timestamp\": %.4f, \"input_length\": %d, \"output_length\": %d, "
                     "\"type\": \"k%d\"",
                     m->row, parent, (double)draw_time_us(m) / 1e6, (int)tokens, (int)draw(m, 90),
                     (int)draw(m, 3));
  if (has_turns || draw(m, 2) > 0) {
    blis_buffer_format(&m->text, ", \"turn\": %d", 1 + (int)draw(m, 4));
  }
  if (draw(m, 5) == 0) {
    blis_buffer_format(&m->text, ", \"session_id\": \"named%d\"", (int)draw(m, 4));
  }
  add_ids(m, draw(m, tokens / block_tokens + 1));
  blis_buffer_string(&m->text, "}\n");
}

static void bailian(making *m) {
  bailian_row(m, true, 512);
}

static void bailian_small(making *m) {
  bailian_row(m, false, 16);
}

static void routesim_row(making *m, bool has_turns) {
  if (m->row % 7 == 0) {
    blis_buffer_string(&m->text, "# a comment\n\n");
  }
  blis_buffer_format(&m->text,
                     "{\"ts\": %.3f, \"prompt_tokens\": %d, \"gen_tokens\": "
                     "%d, \"conversation_id\": \"c%d\", \"priority\": %d",
                     (double)draw_time_us(m) / 1e3, 32 + (int)draw(m, 900), (int)draw(m, 90),
                     (int)draw(m, 20), (int)draw(m, 3));
  if (draw(m, 2) > 0) {
    blis_buffer_format(&m->text, ", \"prefix_hash\": %d, \"prefix_len\": %d", (int)draw(m, 9),
                       (int)draw(m, 300));
  } else if (draw(m, 2) > 0) {
    blis_buffer_format(&m->text, ", \"segments\": \"%d:16 %d:16@4\"", (int)draw(m, 9),
                       (int)draw(m, 9));
  }
  if (has_turns) {
    blis_buffer_format(&m->text, ", \"turn\": %d", (int)draw(m, 5));
  }
  blis_buffer_string(&m->text, "}\n");
}

static void routesim(making *m) {
  routesim_row(m, false);
}

static void routesim_turns(making *m) {
  routesim_row(m, m->row % 3 == 0);
}

static void add_token_ids(making *m, int64_t count) {
  blis_buffer_string(&m->text, ", \"input_tok_ids\": [");
  for (int64_t i = 0; i < count; i++) {
    blis_buffer_format(&m->text, "%s%d", i > 0 ? ", " : "", i < 40 ? (int)i : (int)draw(m, 3));
  }
  blis_buffer_char(&m->text, ']');
}

static void llmservingsim(making *m) {
  int64_t time_ns = draw_time_us(m) * 1000;
  int64_t tokens = draw(m, 60);
  if (draw(m, 3) > 0) {
    blis_buffer_format(&m->text,
                       "{\"input_toks\": %d, \"output_toks\": %d, "
                       "\"arrival_time_ns\": %" PRId64,
                       (int)tokens, (int)draw(m, 90), time_ns);
    add_token_ids(m, tokens);
    blis_buffer_string(&m->text, "}\n");
    return;
  }
  blis_buffer_format(&m->text,
                     "{\"arrival_time_ns\": %" PRId64 ", \"session_id\": %d, "
                     "\"sub_requests\": [",
                     time_ns, (int)draw(m, 200));
  int64_t calls = 1 + draw(m, 4);
  for (int64_t i = 0; i < calls; i++) {
    blis_buffer_format(&m->text,
                       "%s{\"input_toks\": %d, \"output_toks\": 5, "
                       "\"tool_duration_ns\": %d}",
                       i > 0 ? ", " : "", (int)draw(m, 90), (int)draw(m, 9000000));
  }
  blis_buffer_string(&m->text, "]}\n");
}

static void measured(making *m) {
  blis_buffer_format(&m->text,
                     "{\"request_id\": \"r%" PRId64 "\", \"input_toks\": %d, \"output_toks\": %d, "
                     "\"arrival_time\": %.6f}\n",
                     m->row, (int)draw(m, 900), (int)draw(m, 90),
                     1.7e9 + (double)draw_time_us(m) / 1e6);
}

static void otel(making *m) {
  blis_buffer_string(&m->text, "{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [");
  int64_t spans = draw(m, 4);
  for (int64_t i = 0; i < spans; i++) {
    blis_buffer_format(&m->text,
                       "%s{\"name\": \"x\", \"startTimeUnixNano\": \"%" PRId64
                       "\", \"attributes\": [{\"key\": \"%s\", \"value\": {\"intValue\": "
                       "\"%d\"}}, {\"key\": \"llm.conversation_id\", \"value\": "
                       "{\"stringValue\": \"c%d\"}}]}",
                       i > 0 ? ", " : "", INT64_C(1700000000000000000) + draw_time_us(m) * 1000,
                       draw(m, 5) == 0 ? "other" : "llm.prompt_tokens", (int)draw(m, 900),
                       (int)draw(m, 30));
  }
  blis_buffer_string(&m->text, "]}]}]}\n");
}

typedef struct trace_kind {
  const char *name; /* of the file */
  void (*row)(making *m);
  const char *header; /* of tracev2: its mode */
} trace_kind;

static const trace_kind kinds[] = {
    {"mooncake.jsonl", mooncake, NULL},
    {"azure.csv", azure, NULL},
    {"tracev2.csv", tracev2, "generated"},
    {"observed.csv", observed, "real"},
    {"segments.csv", with_segments, "generated"},
    {"burstgpt.csv", burstgpt, NULL},
    {"vidur.csv", vidur, NULL},
    {"splitwise.csv", splitwise, NULL},
    {"bailian.jsonl", bailian, NULL},
    {"bailian_small.jsonl", bailian_small, NULL},
    {"routesim.jsonl", routesim, NULL},
    {"routesim_turns.jsonl", routesim_turns, NULL},
    {"llmservingsim.jsonl", llmservingsim, NULL},
    {"measured.jsonl", measured, NULL},
    {"otel.jsonl", otel, NULL},
};

/* Writes a random file and returns its path. */
static const char *write_trace(const trace_kind *kind, int64_t seed, int64_t rows,
                               int64_t lateness_us) {
  making m = {.lateness_us = lateness_us};
  blis_random_init(&m.random, seed);
  blis_buffer_init(&m.text, &heap);
  for (m.row = 0; m.row < rows; m.row++) {
    kind->row(&m);
  }
  if (kind->header != NULL) {
    char header[200];
    char name[64];
    snprintf(header, sizeof header, "trace_version: 3\ntime_unit: us\nmode: %s\n", kind->header);
    snprintf(name, sizeof name, "%.*s.yaml", (int)strlen(kind->name) - 4, kind->name);
    temp_file(name, header);
  }
  CHECK(blis_buffer_status(&m.text) == BLIS_OK);
  const char *path = temp_file(kind->name, blis_buffer_text(&m.text));
  blis_buffer_deinit(&m.text);
  return path;
}

/* Streams and lists. */

static blis_trace_stream *open_stream(const char *path, const blis_trace_options *options) {
  blis_trace_stream *stream = NULL;
  CHECK_OK(blis_trace_stream_new(&heap, path, options, &stream, &error), &error);
  return stream;
}

/* What a cursor gives, as a list; nothing of it may be left behind. */
static blis_workload *collect(blis_trace_stream *stream) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_trace_cursor *cursor = NULL;
  CHECK_OK(blis_trace_cursor_open(&alloc, stream, &cursor, &error), &error);
  blis_request_source source = blis_trace_cursor_source(cursor);
  blis_workload *list = NULL;
  CHECK_OK(blis_workload_collect(&heap, &source, SIZE_MAX, &list, &error), &error);
  blis_trace_cursor_close(cursor);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return list;
}

static void check_notes(const blis_workload *list, const blis_workload *about) {
  CHECK_EQ_I64(blis_workload_note_count(list), blis_workload_note_count(about));
  for (size_t i = 0; i < blis_workload_note_count(list); i++) {
    CHECK_STR(blis_workload_note_text(list, i), blis_workload_note_text(about, i));
  }
}

static void check_stream(const char *path, const blis_trace_options *options) {
  blis_workload *list = read_with(path, options);
  blis_trace_stream *stream = open_stream(path, options);
  CHECK_EQ_I64(blis_trace_stream_count(stream), blis_workload_count(list));
  CHECK_STR(blis_trace_stream_description(stream), blis_workload_description(list));
  check_notes(list, blis_trace_stream_about(stream));
  for (int pass = 0; pass < 2; pass++) { /* a stream can be read again */
    blis_workload *streamed = collect(stream);
    check_same(list, streamed);
    blis_workload_free(streamed);
  }
  blis_trace_stream_free(stream);
  blis_workload_free(list);
}

static void streams_are_lists(void) {
  for (size_t k = 0; k < COUNT(kinds); k++) {
    for (int64_t seed = 1; seed <= 6; seed++) {
      int64_t lateness_us = seed % 3 * 40000; /* 0 = in order */
      const char *path = write_trace(&kinds[k], seed, ROWS, lateness_us);
      check_stream(path, NULL);
      blis_trace_options options = {.limit = 40 + seed, .keep_epoch = seed > 3};
      check_stream(path, &options);
    }
  }
}

static void recorded_files_stream_as_well(void) {
  static const char *const paths[] = {"tests/data/mooncake.jsonl",
                                      "tests/data/azure_2023.csv",
                                      "tests/data/traces/bailian.jsonl",
                                      "tests/data/traces/burstgpt_1.csv",
                                      "tests/data/traces/burstgpt_2.csv",
                                      "tests/data/traces/splitwise.csv",
                                      "tests/data/traces/routesim.jsonl",
                                      "tests/data/traces/vidur.csv",
                                      "tests/data/tracev2/adt.csv",
                                      "tests/data/tracev2/cct.yaml",
                                      "tests/data/tracev2/mt",
                                      "tests/data/tracev2/o.csv",
                                      "tests/data/traces/llmservingsim.jsonl",
                                      "tests/data/tracev2/os.csv",
                                      "tests/data/tracev2/t1.csv"};
  for (size_t i = 0; i < COUNT(paths); i++) {
    check_stream(paths[i], NULL);
  }
}

static void packed_files_stream_as_well(void) {
  static char packed[1 << 20];
  static char text[1 << 20];
  const char *path = write_trace(&kinds[0], 4, ROWS, 30000);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  blis_workload *list = read_trace(path);
  for (packing how = PACKED_GZIP; how <= PACKED_ZSTD; how++) {
    size_t length = pack(how, (blis_slice){text, size}, packed, sizeof packed);
    const char *packed_path = temp_file("packed.bin", "");
    file = fopen(packed_path, "wb");
    CHECK(file != NULL && fwrite(packed, 1, length, file) == length);
    CHECK(fclose(file) == 0);
    blis_trace_stream *stream = open_stream(packed_path, NULL);
    blis_workload *streamed = collect(stream);
    check_same(list, streamed);
    blis_workload_free(streamed);
    blis_trace_stream_free(stream);
  }
  blis_workload_free(list);
}

/* Tools. */

static void tools_do_the_same_to_both(void) {
  static const blis_trace_warp_point points[] = {{0, 1000}, {500000, 2000}, {900000, 2000000}};
  for (size_t k = 0; k < COUNT(kinds); k++) {
    const char *path = write_trace(&kinds[k], 9, ROWS, 25000);
    blis_workload *lists[5] = {read_trace(path)};
    blis_trace_stream *streams[5] = {open_stream(path, NULL)};
    size_t count = blis_workload_count(lists[0]);
    uint64_t *marks = calloc(blis_trace_mark_words(count), sizeof *marks);
    for (size_t i = 0; i < count; i += 3) {
      blis_trace_mark(marks, i);
    }
    const blis_trace_edit edits[] = {
        {.kind = BLIS_TRACE_FILTER, .marks = marks},
        {.kind = BLIS_TRACE_SCALE, .factor = 1.7},
        {.kind = BLIS_TRACE_WARP, .points = points, .point_count = COUNT(points)},
        {.kind = BLIS_TRACE_CUT,
         .cut = {.start_us = 50000, .end_us = 700000, .skip = 3, .limit = 90, .from_zero = true}},
    };
    for (size_t i = 0; i < COUNT(edits); i++) {
      CHECK_OK(blis_trace_apply(&heap, lists[i], &edits[i], &lists[i + 1], &error), &error);
      CHECK_OK(blis_trace_stream_apply(streams[i], &edits[i], &streams[i + 1], &error), &error);
    }
    free(marks);                  /* they were copied */
    for (int i = 0; i < 4; i++) { /* the last one keeps what it needs */
      blis_trace_stream_free(streams[i]);
    }
    int64_t counted;
    CHECK_OK(blis_trace_stream_need_count(streams[4], &counted, &error), &error);
    CHECK_EQ_I64(counted, blis_workload_count(lists[4]));
    CHECK_STR(blis_trace_stream_description(streams[4]), blis_workload_description(lists[4]));
    blis_workload *streamed = collect(streams[4]);
    check_same(lists[4], streamed);
    blis_workload_free(streamed);
    blis_trace_stream_free(streams[4]);
    for (int i = 0; i < 5; i++) {
      blis_workload_free(lists[i]);
    }
  }
}

static size_t read_bytes(const char *path, char *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t length = fread(bytes, 1, size, file);
  fclose(file);
  return length;
}

static void both_are_written_alike(void) {
  static const char *const outputs[] = {"out.jsonl", "out.csv"};
  static char bytes[2][1 << 20];
  temp_file("out.yaml", "");
  for (size_t k = 0; k < COUNT(kinds); k++) {
    const char *path = write_trace(&kinds[k], 11, ROWS, 25000);
    blis_workload *list = read_trace(path);
    blis_trace_stream *stream = open_stream(path, NULL);
    for (size_t i = 0; i < COUNT(outputs); i++) {
      const char *output = temp_file(outputs[i], "");
      CHECK_OK(blis_trace_write(&heap, output, list, NULL, &error), &error);
      size_t length = read_bytes(output, bytes[0], sizeof bytes[0]);
      CHECK_OK(blis_trace_stream_write(&heap, output, stream, NULL, &error), &error);
      CHECK_EQ_I64(read_bytes(output, bytes[1], sizeof bytes[1]), length);
      CHECK(memcmp(bytes[0], bytes[1], length) == 0);
    }
    blis_trace_stream_free(stream);
    blis_workload_free(list);
  }
}

static void check_same_lengths(const blis_length_statistics *a, const blis_length_statistics *b) {
  CHECK(a->sum == b->sum && a->min == b->min && a->max == b->max);
  CHECK(a->p50 == b->p50 && a->p90 == b->p90 && a->p99 == b->p99);
  CHECK_EQ_DOUBLE(a->mean, b->mean);
}

static void check_same_statistics(const blis_workload_statistics *a,
                                  const blis_workload_statistics *b) {
  CHECK_EQ_I64(a->count, b->count);
  CHECK_EQ_I64(a->first_arrival_us, b->first_arrival_us);
  CHECK_EQ_I64(a->last_arrival_us, b->last_arrival_us);
  CHECK_EQ_DOUBLE(a->requests_per_sec, b->requests_per_sec);
  CHECK_EQ_DOUBLE(a->gap_cv, b->gap_cv);
  CHECK_EQ_I64(a->busiest_second, b->busiest_second);
  CHECK_EQ_I64(a->reused_tokens, b->reused_tokens);
  CHECK_EQ_I64(a->shareable_blocks, b->shareable_blocks);
  CHECK_EQ_I64(a->sessions, b->sessions);
  CHECK_EQ_I64(a->clients, b->clients);
  CHECK_EQ_I64(a->prefix_groups, b->prefix_groups);
  check_same_lengths(&a->prompt, &b->prompt);
  check_same_lengths(&a->output, &b->output);
  check_same_lengths(&a->turns, &b->turns);
}

static void both_have_the_same_statistics(void) {
  for (size_t k = 0; k < COUNT(kinds); k++) {
    const char *path = write_trace(&kinds[k], 12, ROWS, 25000);
    blis_workload *list = read_trace(path);
    blis_trace_stream *stream = open_stream(path, NULL);
    blis_workload_statistics expected = {0};
    blis_workload_statistics got = {0};
    CHECK_OK(blis_workload_measure(&heap, list, 16, &expected, &error), &error);
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_trace_cursor *cursor;
    CHECK_OK(blis_trace_cursor_open(&alloc, stream, &cursor, &error), &error);
    blis_request_source source = blis_trace_cursor_source(cursor);
    CHECK_OK(blis_source_measure(&alloc, &source, 16, &got, &error), &error);
    blis_trace_cursor_close(cursor);
    CHECK_EQ_I64(memory.live_bytes, 0);
    check_same_statistics(&expected, &got);
    blis_trace_stream_free(stream);
    blis_workload_free(list);
  }
}

static void impossible_edits_are_refused(void) {
  const char *path = write_trace(&kinds[0], 1, ROWS, 0);
  blis_trace_stream *stream = open_stream(path, NULL);
  blis_trace_stream *made = NULL;
  const blis_trace_edit edits[] = {
      {.kind = BLIS_TRACE_CUT, .cut = {.start_us = 9, .end_us = 5}},
      {.kind = BLIS_TRACE_WARP},
      {.kind = BLIS_TRACE_SCALE, .factor = 0},
  };
  for (size_t i = 0; i < COUNT(edits); i++) {
    CHECK(blis_trace_stream_apply(stream, &edits[i], &made, &error) == BLIS_ERR_INVALID);
  }
  CHECK_CONTAINS(error.message, "the rate factor is 0");
  CHECK(made == NULL);
  blis_trace_stream_free(stream);
}

/* Segments that were released are not the cursor's any more. */
static void released_requests_give_memory_back(void) {
  const char *path = write_trace(&kinds[0], 2, ROWS, 20000);
  blis_trace_stream *stream = open_stream(path, NULL);
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_trace_cursor *cursor;
  CHECK_OK(blis_trace_cursor_open(&alloc, stream, &cursor, &error), &error);
  blis_request_source source = blis_trace_cursor_source(cursor);
  CHECK_EQ_I64(source.count, ROWS);
  blis_request ring[8];
  int64_t taken = 0;
  bool done = false;
  while (!done) {
    blis_request request;
    CHECK_OK(source.next(source.state, &request, &done, &error), &error);
    if (!done && taken >= 8) { /* not in order: 0, 8, 16, ... stay */
      if (taken % 8 != 0) {
        source.release(source.state, &ring[taken % 8]);
      }
    }
    ring[taken++ % 8] = request;
  }
  blis_trace_cursor_close(cursor);
  CHECK_EQ_I64(memory.live_bytes, 0);
  blis_trace_stream_free(stream);
}

/* Files that are no streams. */

static void check_no_stream(const char *path, const char *message) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_trace_stream *stream = NULL;
  CHECK(blis_trace_stream_new(&alloc, path, NULL, &stream, &error) != BLIS_OK);
  CHECK_CONTAINS(error.message, message);
  CHECK(stream == NULL);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

/* One row comes distance rows too late. */
static const char *write_late_row(int64_t distance) {
  blis_buffer text;
  blis_buffer_init(&text, &heap);
  blis_buffer_string(&text, "arrived_at,num_prefill_tokens,num_decode_tokens\n"
                            "0,1,1\n");
  for (int64_t i = 0; i < LONG; i++) {
    blis_buffer_format(&text, "%d,9,9\n%s", (int)i + 2, i + 1 == distance ? "1,5,5\n" : "");
  }
  CHECK(blis_buffer_status(&text) == BLIS_OK);
  const char *path = temp_file("late.csv", blis_buffer_text(&text));
  blis_buffer_deinit(&text);
  return path;
}

static void rows_may_come_65536_places_too_late(void) {
  check_stream(write_late_row(65536), NULL);
  check_no_stream(write_late_row(65537),
                  "late.csv: request 65539 arrives before a request more than "
                  "65536 places ahead of it");
}

static void what_cannot_be_streamed_says_so(void) {
  check_no_stream("tests/data/traces/vllm.json",
                  "vllm.json: a single JSON text cannot be streamed");
  check_no_stream(temp_file("x.txt", "hello\n"), "not recognized as a trace");
  check_no_stream(temp_file("bad.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n"
                                       "0,1,1\n5,1,-1\n"),
                  "bad.csv:3: column 'num_decode_tokens': invalid value '-1'");
  check_no_stream(temp_file("bad.csv", "arrived_at,num_prefill_tokens,num_decode_tokens"),
                  "the trace has no rows");
}

static void changed_files_are_noticed(void) {
  static const char *const contents[] = {
      "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n1,1,1\n",
      "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n2,1,1\n1,1,1\n"};
  for (size_t i = 0; i < COUNT(contents); i++) {
    const char *path =
        temp_file("changes.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n1,1,1\n"
                                 "2,1,1\n");
    blis_trace_stream *stream = open_stream(path, NULL);
    temp_file("changes.csv", contents[i]);
    blis_trace_cursor *cursor;
    CHECK_OK(blis_trace_cursor_open(&heap, stream, &cursor, &error), &error);
    blis_request request;
    bool done = false;
    blis_status status = BLIS_OK;
    while (status == BLIS_OK && !done) {
      status = blis_trace_cursor_next(cursor, &request, &done, &error);
    }
    CHECK(status == BLIS_ERR_IO);
    CHECK_CONTAINS(error.message, "has changed since it was first");
    blis_trace_cursor_close(cursor);
    blis_trace_stream_free(stream);
  }
}

static void small_files_are_lists(void) {
  blis_workload *list;
  blis_trace_stream *stream;
  CHECK_OK(blis_trace_open(&heap, "tests/data/mooncake.jsonl", NULL, &list, &stream, &error),
           &error);
  CHECK(list != NULL && stream == NULL);
  blis_workload_free(list);
}

/* Memory. */

static blis_status stream_with_failure_at(const char *path, long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_trace_stream *stream = NULL;
  blis_trace_cursor *cursor = NULL;
  bool done = false;
  blis_status status = blis_trace_stream_new(&alloc, path, NULL, &stream, &error);
  if (status == BLIS_OK) {
    status = blis_trace_cursor_open(&alloc, stream, &cursor, &error);
  }
  if (status == BLIS_OK) {
    blis_request_source source = blis_trace_cursor_source(cursor);
    while (status == BLIS_OK && !done) {
      blis_request row;
      status = source.next(source.state, &row, &done, &error);
    }
  }
  blis_trace_cursor_close(cursor);
  blis_trace_stream_free(stream);
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status;
}

static void out_of_memory_is_an_error(void) {
  for (size_t k = 0; k < COUNT(kinds); k++) {
    const char *path = write_trace(&kinds[k], 3, 25, 30000);
    long request = 1;
    while (stream_with_failure_at(path, request) != BLIS_OK) {
      CHECK(++request < FAULTS);
    }
    CHECK(request > 8);
  }
}

/* The most memory that a stream of so many rows needs. */
static size_t peak_bytes(const trace_kind *kind, int64_t rows) {
  const char *path = write_trace(kind, 5, rows, 0);
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_trace_stream *stream;
  blis_trace_cursor *cursor;
  CHECK_OK(blis_trace_stream_new(&alloc, path, NULL, &stream, &error), &error);
  CHECK_OK(blis_trace_cursor_open(&alloc, stream, &cursor, &error), &error);
  blis_request_source source = blis_trace_cursor_source(cursor);
  bool done = false;
  while (!done) {
    blis_request request;
    CHECK_OK(source.next(source.state, &request, &done, &error), &error);
    if (!done) {
      source.release(source.state, &request);
    }
  }
  blis_trace_cursor_close(cursor);
  blis_trace_stream_free(stream);
  return memory.peak_bytes;
}

static void memory_does_not_grow_with_rows(void) {
  for (size_t k = 0; k < COUNT(kinds); k++) {
    /* Buffers of files above 256 KB have their full size. */
    size_t few = peak_bytes(&kinds[k], 20000);
    size_t many = peak_bytes(&kinds[k], 39000);
    /* A list has 144 bytes per row. A chat of bailian has 107 bytes while it is surveyed, and
     * llmservingsim has a line of calls per session. */
    CHECK(many < few + 19000 * 120);
    bool has_few_texts =
        strstr(kinds[k].name, "bailian") == NULL && strstr(kinds[k].name, "llmservingsim") == NULL;
    CHECK(!has_few_texts || many < few + 20000);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(streams_are_lists);
  RUN(recorded_files_stream_as_well);
  RUN(packed_files_stream_as_well);
  RUN(tools_do_the_same_to_both);
  RUN(both_are_written_alike);
  RUN(both_have_the_same_statistics);
  RUN(impossible_edits_are_refused);
  RUN(released_requests_give_memory_back);
  RUN(rows_may_come_65536_places_too_late);
  RUN(what_cannot_be_streamed_says_so);
  RUN(changed_files_are_noticed);
  RUN(small_files_are_lists);
  RUN(out_of_memory_is_an_error);
  RUN(memory_does_not_grow_with_rows);
  return check_done();
}
