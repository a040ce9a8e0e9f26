/* Traces in JSON: RouteSim, Bailian, vLLM's results, LLMServingSim, OTLP. */
#include "trace_fixture.h"
#include "workload/statistics.h"

#define FOLDER "tests/data/traces/"

/* Tokens that an unlimited cache with blocks of this size would save. */
static int64_t reused_tokens(const blis_workload *workload, uint32_t block_size) {
  blis_alloc heap = blis_alloc_heap();
  blis_error error;
  blis_workload_statistics s;
  CHECK_OK(blis_workload_measure(&heap, workload, block_size, &s, &error), &error);
  return s.reused_tokens;
}

/* RouteSim. */

static void routesim_prefixes_are_shared(void) {
  static const expected_request rows[] = {
      {0, 0, 512, 128, "c1", 0, ""},    {1, 5000, 300, 64, "c2", 0, ""},
      {3, 12500, 100, 8, "", 0, ""},    {4, 20000, 40, 0, "", 0, ""},
      {2, 95000, 800, 32, "c1", 1, ""},
  };
  blis_workload *workload = read_trace(FOLDER "routesim.jsonl");
  check_requests(workload, rows, COUNT(rows));
  const blis_request *first = blis_workload_request(workload, 0);
  CHECK_STR(text_of(workload, first->prefix_group), "system-a");
  CHECK(first->prefix_tokens == 256 && first->shared_tokens == 256);
  /* A prefix is at most the prompt. */
  const blis_request *cut = blis_workload_request(workload, 2);
  CHECK(cut->prefix_tokens == 100 && cut->shared_tokens == 100);
  CHECK_EQ_I64(reused_tokens(workload, 16), 256 + 256);
  CHECK_STR(text_of(workload, cut->adapter), "sql");
  CHECK_EQ_I64(blis_workload_note_count(workload), 1);
  CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                 "rows with a priority, which is not simulated: 1");
  blis_workload_free(workload);
}

#define COMPACT "{\"ts\": 1, \"prompt_tokens\": 100, \"gen_tokens\": 2"

static void compact_rows_may_tell_everything(void) {
  blis_workload *workload = read_trace(temp_file(
      "full.jsonl", COMPACT ", \"id\": 7, \"arrival_us\": 1999, \"turn\": 3, \"max_tokens\": 9, "
                            "\"deadline_us\": 5000, \"model\": \"m\", \"tenant\": \"t\", "
                            "\"slo_class\": \"batch\", \"client\": 12, \"prefix_len\": 4, "
                            "\"prefix_hash\": \"g\", \"segments\": \"3:40 4:20@60\"}\n" COMPACT
                            ", \"segments\": \"3:16\", \"model\": null}\n"));
  CHECK_EQ_I64(blis_workload_request(workload, 0)->arrival_us, 1000);
  const blis_request *request = blis_workload_request(workload, 1);
  CHECK_EQ_I64(request->arrival_us, 1999);
  CHECK(request->number == 7 && request->round_index == 3);
  CHECK(request->max_output_tokens == 9 && request->deadline_us == 5000);
  CHECK_STR(text_of(workload, request->model), "m");
  CHECK_STR(text_of(workload, request->tenant), "t");
  CHECK_STR(text_of(workload, request->slo_class), "batch");
  CHECK_STR(text_of(workload, request->client), "12");
  CHECK_STR(text_of(workload, request->prefix_group), "g");
  CHECK(request->prefix_tokens == 4 && request->shared_tokens == 60);
  CHECK(request->segment_count == 2 && request->segments[1].stream == 4);
  CHECK(request->segments[1].offset_tokens == 60);
  CHECK_EQ_I64(reused_tokens(workload, 16), 16);
  blis_workload_free(workload);
}

static void wrong_compact_rows_are_named(void) {
  static const bad_trace cases[] = {
      {COMPACT "}\n{\"ts\": -1, \"prompt_tokens\": 1, \"gen_tokens\": 2}",
       "bad.jsonl:2: key 'ts': invalid value -1"},
      {"# about\n\n{\"ts\": 0, \"prompt_tokens\": 1}", "bad.jsonl:3: key 'gen_tokens': is missing"},
      {"{\"ts\": 0, \"prompt_tokens\": \"1\", \"gen_tokens\": 1}",
       "key 'prompt_tokens': '1' is not a whole number"},
      {COMPACT ", \"priority\": 256}", "key 'priority': invalid value 256: expected 0 to 255"},
      {COMPACT ", \"lora_adapter\": 3.5}", "key 'lora_adapter': 3.5"},
      {COMPACT ", \"reason_ratio\": 2}", "key 'reason_ratio': invalid value 2: expected 0 to 1"},
      {COMPACT ", \"streaming\": 1}", "key 'streaming': 1 is neither"},
      {COMPACT ", \"think_us\": -1}", "key 'think_us': invalid value -1"},
      {COMPACT ", \"conversation_id\": []}", "key 'conversation_id'"},
      {COMPACT ", \"arrival_us\": 2000}", "key 'arrival_us': 2000 is another time than ts"},
      {COMPACT ", \"arrival_us\": -1}", "key 'arrival_us': invalid value -1"},
      {COMPACT ", \"turn\": 3000000000}", "key 'turn': invalid value 3000000000"},
      {COMPACT ", \"segments\": \"+\"}", "is not a list of segments"},
      {COMPACT ", \"segments\": \"1:99+\"}",
       "'1:99+' has 99 tokens; the prompt has 100, which must be as many"},
      {COMPACT ", \"segments\": \"1\"}", "key 'segments': '1' is not a list of segments such as"},
      {COMPACT ", \"segments\": \"1:0\"}", "is not a list of segments"},
      {COMPACT ", \"segments\": \"1:5@\"}", "is not a list of segments"},
      {COMPACT ", \"segments\": \"1:5  2:5\"}", "is not a list of segments"},
      {COMPACT ", \"segments\": \"-1:5\"}", "is not a list of segments"},
      {COMPACT ", \"segments\": \"1:90 2:11\"}", "'1:90 2:11' has 101 tokens; the prompt has 100"},
      {COMPACT "}\n[1]", "bad.jsonl:2:"},
      {COMPACT "}\n{\"ts\": 0,", "bad.jsonl:2: column"},
  };
  check_refused("bad.jsonl", cases, COUNT(cases));
}

/* Bailian. */

static void bailian_sessions_have_a_root(void) {
  static const expected_request rows[] = {
      {0, 0, 40, 12, "159", 0, "text"},       {1, 250000, 33, 5, "160", 0, "search"},
      {2, 3500000, 70, 20, "159", 1, "text"}, {3, 4000000, 16, 1, "162", 3, "text"},
      {4, 9750000, 90, 7, "159", 2, "text"},
  };
  blis_workload *workload = read_trace(FOLDER "bailian.jsonl");
  check_requests(workload, rows, COUNT(rows));
  CHECK_EQ_I64(reused_tokens(workload, 16), 32 + 32 + 64);
  const blis_request *last = blis_workload_request(workload, 4);
  CHECK(last->segment_count == 6 && last->shared_tokens == 90);
  CHECK_EQ_I64(last->segments[5].length_tokens, 90 - 80);
  blis_workload_free(workload);
}

#define CHAT(id, parent, time, length, more)                                                       \
  "{\"chat_id\": " id ", \"parent_chat_id\": " parent ", \"timestamp\": " time                     \
  ", \"input_length\": " length ", \"output_length\": 1" more "}\n"

static void bailian_blocks_of_512_are_known_by_their_number(void) {
  const char *path =
      temp_file("large.jsonl", CHAT("1", "-1", "0", "10", ",\"hash_ids\":[1]")
                                   CHAT("2", "-1", "1", "600", ",\"hash_ids\":[2,3]")
                                       CHAT("3", "-1", "2", "512", ",\"hash_ids\":[2]"));
  blis_workload *workload = read_trace(path);
  const blis_request *second = blis_workload_request(workload, 1);
  CHECK_EQ_I64(second->segments[0].length_tokens, 512);
  CHECK_EQ_I64(second->shared_tokens, 600);
  blis_workload_free(workload);

  blis_trace_options options = {.hash_block_tokens = 16};
  workload = read_with(path, &options);
  CHECK_EQ_I64(blis_workload_request(workload, 1)->shared_tokens, 32);
  blis_workload_free(workload);
}

static void bailian_rows_may_be_out_of_order_and_without_turns(void) {
  static const expected_request rows[] = {
      {2, 0, 5, 1, "1", 0, ""},       {1, 1000000, 5, 1, "1", 1, ""},
      {3, 1500000, 5, 1, "s", 0, ""}, {0, 2000000, 5, 1, "1", 2, ""},
      {4, 3000000, 5, 1, "s", 1, ""},
  };
  blis_workload *workload = read_trace(
      temp_file("order.jsonl", CHAT("3", "2", "3", "5", "") CHAT("2", "1", "2", "5", "")
                                   CHAT("1", "-1", "1", "5", ", \"turn\": 1")
                                       CHAT("7", "1", "2.5", "5", ", \"session_id\": \"s\"")
                                           CHAT("7", "1", "4", "5", ", \"session_id\": \"s\"")));
  check_requests(workload, rows, COUNT(rows));
  CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                 "rows without a turn: 4; the rounds of a session are ordered by time");
  blis_workload_free(workload);
}

static void bailian_turns_may_start_at_zero(void) {
  static const expected_request rows[] = {{0, 0, 5, 1, "1", 0, ""}, {1, 1000000, 5, 1, "1", 1, ""}};
  blis_workload *workload =
      read_trace(temp_file("zero.jsonl", CHAT("1", "-1", "0", "5", ", \"turn_id\": 0")
                                             CHAT("2", "1", "1", "5", ", \"turn_id\": 1")));
  check_requests(workload, rows, COUNT(rows));
  blis_workload_free(workload);
}

static void wrong_bailian_rows_are_named(void) {
  static const bad_trace cases[] = {
      {CHAT("1", "-1", "0", "5", "") CHAT("1", "-1", "1", "5", ""),
       "bad.jsonl:2: key 'chat_id': 1 is given twice"},
      {CHAT("1", "2", "0", "5", "") CHAT("2", "1", "1", "5", ""),
       "bad.jsonl:1: key 'parent_chat_id': the parents of chat 1 form a cycle"},
      {CHAT("1", "1", "0", "5", ""), "the parents of chat 1 form a cycle"},
      {CHAT("\"a\"", "-1", "0", "5", ""), "key 'chat_id': 'a'"},
      {CHAT("1", "-2", "0", "5", ""), "key 'parent_chat_id': invalid value -2"},
      {CHAT("1", "-1", "\"0\"", "5", ""), "key 'timestamp': '0'"},
      {CHAT("1", "-1", "0", "5", ", \"turn\": -1"), "key 'turn': invalid value -1"},
      {CHAT("1", "-1", "0", "5", ", \"turn_id\": 1.5"), "key 'turn_id': 1.5"},
      {CHAT("1", "-1", "0", "33", ", \"hash_ids\": [1,2,3,4]"),
       "bad.jsonl:1: key 'hash_ids' has 4 ids; 33 tokens in blocks of 16 "
       "need 3"},
      {CHAT("1", "-1", "0", "33", ", \"hash_ids\": [1,-2]"),
       "key 'hash_ids': item 2: invalid value -2"},
  };
  check_refused("bad.jsonl", cases, COUNT(cases));
}

/* vLLM. */

static void vllm_results_are_their_requests(void) {
  static const expected_request rows[] = {{0, 0, 512, 128, "", 0, ""},
                                          {3, 250000, 512, 128, "", 0, ""},
                                          {2, 750000, 387, 134, "", 0, ""}};
  blis_workload *workload = read_trace(FOLDER "vllm.json");
  check_requests(workload, rows, COUNT(rows));
  CHECK_CONTAINS(blis_workload_note_text(workload, 0), "vllm.json: failed requests skipped");
  blis_workload_free(workload);
}

static void wrong_vllm_results_are_named(void) {
  static const bad_trace cases[] = {
      {"{\"num_prompts\": 2, \"request_rate\": \"inf\"}",
       "bad.json: key 'input_lens' is missing; run the benchmark with "
       "--save-detailed to get it"},
      {"{\"input_lens\": [1], \"output_lens\": [1]}", "key 'start_times' is missing"},
      {"{\"input_lens\": [1, 2], \"output_lens\": [1], \"start_times\": []}",
       "key 'output_lens': an array has 1 entries; input_lens has 2"},
      {"{\"input_lens\": [1, -2], \"output_lens\": [1, 1], "
       "\"start_times\": [0, 1]}",
       "key 'input_lens': item 2: invalid value -2"},
      {"{\"input_lens\": [1], \"output_lens\": [1], \"start_times\": [\"x\"]}",
       "key 'start_times': item 1: 'x' is not a number"},
      {"{\"input_lens\": [1], \"output_lens\": [1], \"start_times\": [0], "
       "\"errors\": [1]}",
       "key 'errors': item 1: 1 is not a string"},
      {"{\"input_lens\": 1, \"output_lens\": [1], \"start_times\": [0]}",
       "key 'input_lens': 1 is not an array"},
      {"{\"input_lens\": [1]", "bad.json:1: column"},
  };
  check_refused("bad.json", cases, COUNT(cases));
}

/* A client that lets few requests go at a time has others wait. */
static void vllm_requests_arrive_behind_the_client(void) {
  static const expected_request rows[] = {{0, 0, 9, 1, "", 0, ""}, {1, 1500000, 8, 2, "", 0, ""}};
  blis_workload *workload = read_trace(
      temp_file("queue.json", "{\"input_lens\": [9, 8], \"output_lens\": [1, 2], \"start_times\": "
                              "[5, 5], \"queue_times\": [0.5, 2.0], \"latencies\": [1, 1]}"));
  check_requests(workload, rows, COUNT(rows));
  CHECK_EQ_I64(blis_workload_note_count(workload), 0);
  blis_workload_free(workload);
}

/* Reports of load generators. */

static void inference_perf_reports_are_their_requests(void) {
  static const expected_request rows[] = {{0, 0, 100, 3, "", 0, ""}, {1, 250000, 7, 2, "", 0, ""}};
  blis_workload *workload = read_trace(temp_file(
      "per_request.json", "[{\"start_time\": 10.0, \"end_time\": 10.3, \"request\": \"{}\", "
                          "\"info\": {\"request_metrics\": {\"text\": {\"input_tokens\": 100}}, "
                          "\"response_metrics\": {\"output_tokens\": 3, \"output_token_times\": "
                          "[10.2, 10.23, 10.29]}}, \"error\": null},\n"
                          " {\"start_time\": 10.1, \"error\": {\"error_type\": \"x\"}},\n"
                          " {\"start_time\": 10.25, \"info\": {\"input_tokens\": 7, "
                          "\"response_metrics\": {\"output_tokens\": 2}}}]"));
  check_requests(workload, rows, COUNT(rows));
  CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                 "failed requests skipped, since their output is unknown: 1");
  blis_workload_free(workload);
}

static void guidellm_reports_are_their_requests(void) {
  static const expected_request rows[] = {
      {1, 0, 50, 100, "c", 0, ""}, {0, 2000000, 64, 10, "c", 1, ""}, {2, 3500000, 5, 6, "", 0, ""}};
  blis_workload *workload = read_trace(temp_file(
      "benchmarks.json", "{\"metadata\": {\"guidellm_version\": \"0.6.0\"}, \"benchmarks\": ["
                         "{\"requests\": {\"successful\": ["
                         "{\"prompt_tokens\": 64, \"output_tokens\": 10, \"info\": "
                         "{\"conversation_id\": \"c\", \"timings\": {\"request_start\": "
                         "1700000007.0}}},"
                         "{\"prompt_tokens\": 50, \"output_tokens\": 100, "
                         "\"request_start_time\": 1700000005.0, \"info\": "
                         "{\"conversation_id\": \"c\"}}], \"errored\": [{}, {}]}},"
                         "{\"requests\": {\"successful\": [{\"prompt_tokens\": 5, "
                         "\"output_tokens\": 6, \"request_start_time\": 1700000008.5}]}}]}"));
  check_requests(workload, rows, COUNT(rows));
  CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                 "failed requests skipped, since their output is unknown: 2");
  blis_workload_free(workload);
}

static void wrong_reports_are_named(void) {
  static const bad_trace cases[] = {
      {"[{\"start_time\": 1, \"info\": {}}]", "key 'input_tokens': is missing"},
      {"[{\"start_time\": \"x\", \"end_time\": 1}]", "key 'start_time': 'x' is not a number"},
      {"[7, {\"start_time\": 1, \"info\": 1}]", "7 is not an object"},
      {"{\"metadata\": 1, \"benchmarks\": 5}", "key 'benchmarks': 5 is not an array"},
      {"{\"metadata\": 1, \"benchmarks\": [{\"requests\": {\"successful\": "
       "[{\"request_start_time\": 1}]}}]}",
       "key 'prompt_tokens': is missing"},
  };
  check_refused("bad.json", cases, COUNT(cases));
}

/* LLMServingSim. */

static void llmservingsim_tokens_are_compared(void) {
  static const expected_request rows[] = {{0, 0, 20, 4, "", 0, ""},
                                          {1, 2, 33, 2, "", 0, ""},
                                          {3, 1500, 500, 50, "", 0, ""},
                                          {2, 2000, 36, 9, "", 0, ""}};
  blis_workload *workload = read_trace(FOLDER "llmservingsim.jsonl");
  check_requests(workload, rows, COUNT(rows));
  CHECK_EQ_I64(blis_workload_request(workload, 2)->segment_count, 0);
  CHECK_EQ_I64(reused_tokens(workload, 16), 16 + 32);
  blis_workload_free(workload);
  blis_trace_options options = {.hash_block_tokens = 4};
  workload = read_with(FOLDER "llmservingsim.jsonl", &options);
  CHECK_EQ_I64(reused_tokens(workload, 4), 20 + 32);
  blis_workload_free(workload);
}

#define FLAT "{\"input_toks\": 2, \"output_toks\": 1, \"arrival_time_ns\": 0"

static void wrong_llmservingsim_rows_are_named(void) {
  static const bad_trace cases[] = {
      {FLAT ", \"input_tok_ids\": [1]}",
       "bad.jsonl:1: key 'input_tok_ids': an array does not have as many ids "
       "as input_toks says"},
      {FLAT ", \"input_tok_ids\": [1, -1]}", "key 'input_tok_ids': item 2: invalid value -1"},
      {FLAT "}\n{\"arrival_time_ns\": 0, \"sub_requests\": []}",
       "bad.jsonl:2: key 'sub_requests': an array is empty; a row needs at "
       "least one call"},
      {"{\"input_toks\": 2, \"output_toks\": 1, \"arrival\": 1.5}",
       "key 'arrival_time_ns': is missing"},
      {FLAT "}\n{\"input_toks\": 2, \"output_toks\": 1, \"arrival_time\": "
            "1.5}",
       "bad.jsonl:2: the row has arrival_time but earlier rows have "
       "arrival_time_ns; all must have the same"},
      {"{\"arrival_time_ns\": 0, \"sub_requests\": [{\"input_toks\": 1, "
       "\"output_toks\": 1}, {\"input_toks\": 1, \"output_toks\": 1}]}",
       "bad.jsonl:1: key 'tool_duration_ns': is missing"},
      {"{\"arrival_time_ns\": 0, \"sub_requests\": [7]}",
       "bad.jsonl:1: key 'sub_requests': item 1: 7 is not an object"},
  };
  check_refused("bad.jsonl", cases, COUNT(cases));
}

static void llmservingsim_calls_are_rounds(void) {
  const char *path = temp_file(
      "calls.jsonl", "{\"session_id\": \"agent\", \"arrival_time_ns\": 1000000, "
                     "\"sub_requests\": [{\"input_toks\": 5, \"output_toks\": 2, "
                     "\"tool_duration_ns\": 3000000}, {\"input_toks\": 9, \"output_toks\": "
                     "1, \"tool_duration_ns\": 500000}, {\"input_toks\": 20, "
                     "\"output_toks\": 4}]}\n"
                     "{\"input_toks\": 7, \"output_toks\": 3, \"arrival_time_ns\": "
                     "2000000}\n"
                     "{\"arrival_time_ns\": 4200000, \"sub_requests\": [{\"input_toks\": 6, "
                     "\"output_toks\": 2}]}\n");
  static const expected_request rows[] = {
      {0, 0, 5, 2, "agent", 0, ""},     {3, 1000, 7, 3, "", 0, ""},
      {1, 3000, 9, 1, "agent", 1, ""},  {4, 3200, 6, 2, "line_3", 0, ""},
      {2, 3500, 20, 4, "agent", 2, ""},
  };
  blis_workload *workload = read_trace(path);
  check_requests(workload, rows, COUNT(rows));
  const blis_request *second = blis_workload_request(workload, 2);
  CHECK(second->has_think_time && second->think_us == 3000);
  CHECK(!blis_workload_request(workload, 0)->has_think_time);
  CHECK_EQ_I64(blis_workload_request(workload, 4)->think_us, 500);
  CHECK_EQ_I64(blis_workload_note_count(workload), 1);
  CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                 "calls that wait for the previous one, whose duration is unknown: 2");
  blis_workload_free(workload);
}

static void llmservingsim_measurements_arrive_from_the_first(void) {
  const char *path =
      temp_file("measured.jsonl", "{\"request_id\": \"b\", \"input_toks\": 5, \"output_toks\": 2, "
                                  "\"arrival_time\": 1700000000.25, \"queued_ts\": 3.5}\n"
                                  "{\"request_id\": \"a\", \"input_toks\": 6, \"output_toks\": 3, "
                                  "\"arrival_time\": 1700000000.125}\n");
  static const expected_request rows[] = {{1, 0, 6, 3, "", 0, ""}, {0, 125000, 5, 2, "", 0, ""}};
  blis_workload *workload = read_trace(path);
  check_requests(workload, rows, COUNT(rows));
  blis_workload_free(workload);
}

/* OpenTelemetry. */

#define ATTRIBUTE(key, type, value) "{\"key\": \"" key "\", \"value\": {\"" type "\": " value "}}"
#define SPAN(start, attributes)                                                                    \
  "{\"startTimeUnixNano\": " start ", \"attributes\": [" attributes "]}"
#define SPANS(spans) "{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [" spans "]}]}]}"
#define PROMPT(value) ATTRIBUTE("llm.prompt_tokens", "intValue", value)

#define LABEL(key, value) ATTRIBUTE(key, "stringValue", "\"" value "\"")
#define FIRST_SPAN                                                                                 \
  SPAN("\"1700000000000007000\"",                                                                  \
       PROMPT("\"512\"") ", " ATTRIBUTE("llm.completion_tokens", "intValue", "9") ", " LABEL(      \
           "llm.conversation_id", "c") ", " LABEL("llm.model", "m"))
#define SECOND_SPAN                                                                                \
  SPAN("1700000000000002000",                                                                      \
       ATTRIBUTE("gen_ai.prompt.tokens", "intValue", "\"7\"") ", " LABEL(                          \
           "llm.conversation_id", "c") ", " LABEL("llm.system_prompt_hash", "h"))

/* Written in one line and in several. */
static const char otel_spans[] =
    "{\"resourceSpans\": [{\"scopeSpans\": []}, {\"scopeSpans\": [{}, "
    "{\"spans\": [%s" FIRST_SPAN ",%s" SECOND_SPAN ", {\"name\": \"other\"}]}]}]}\n";

static void otel_spans_are_requests(void) {
  static const char *const breaks[] = {"", "\n  "};
  static const expected_request rows[] = {{1, 0, 7, 64, "c", 0, ""}, {0, 5, 512, 9, "c", 1, ""}};
  for (size_t i = 0; i < COUNT(breaks); i++) {
    char text[2000];
    snprintf(text, sizeof text, otel_spans, breaks[i], breaks[i]);
    blis_workload *workload = read_trace(temp_file("spans.json", text));
    check_requests(workload, rows, COUNT(rows));
    CHECK_STR(blis_workload_description(workload), "otel trace spans.json");
    const blis_request *first = blis_workload_request(workload, 0);
    CHECK_STR(text_of(workload, first->prefix_group), "h");
    CHECK(first->prefix_tokens == 0 && first->segment_count == 0);
    CHECK_STR(text_of(workload, blis_workload_request(workload, 1)->model), "m");
    CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                   "spans without a number of prompt tokens skipped: 1");
    blis_workload_free(workload);
  }
}

static void otel_texts_may_be_lines(void) {
  blis_workload *workload =
      read_trace(temp_file("lines.json", SPANS(SPAN("2000", PROMPT("1"))) "\n\n" SPANS(
                                             "") "\n" SPANS(SPAN("9000", PROMPT("2")))));
  static const expected_request rows[] = {{0, 0, 1, 64, "", 0, ""}, {1, 7, 2, 64, "", 0, ""}};
  check_requests(workload, rows, COUNT(rows));
  blis_workload_free(workload);
}

static void wrong_otel_texts_are_named(void) {
  static const bad_trace cases[] = {
      {SPANS(SPAN("1", PROMPT("\"-1\""))),
       "bad.json:1: key 'intValue': invalid value '-1': expected 0 to"},
      {SPANS(SPAN("1", PROMPT("\"x\""))), "bad.json:1: key 'intValue': 'x' is not a number"},
      {SPANS(SPAN("1", ATTRIBUTE("llm.prompt_tokens", "stringValue", "\"5\""))),
       "bad.json:1: key 'intValue': is missing"},
      {SPANS("{\"attributes\": [" PROMPT("1") "]}"),
       "bad.json:1: key 'startTimeUnixNano': is missing"},
      {SPANS(SPAN("1", PROMPT("1"))) "\n" SPANS(SPAN("-1", PROMPT("1"))),
       "bad.json:2: key 'startTimeUnixNano': invalid value -1"},
      {"{\"resourceSpans\": 5}", "key 'resourceSpans': 5 is not an array"},
      {"{\"resourceSpans\": [5]}", "key 'resourceSpans': item 1: 5 is not an object"},
      {SPANS("5"), "key 'spans': item 1: 5 is not an object"},
      {SPANS(SPAN("1", "5")), "key 'attributes': item 1: 5 is not an object"},
      {SPANS(SPAN("1", "{}")), "key 'key': is missing"},
      {SPANS(SPAN("1", PROMPT("1") ", " ATTRIBUTE("llm.model", "x", "1"))),
       "has neither stringValue nor intValue"},
      {SPANS("{}"), "the trace has no rows"},
      {SPANS(SPAN("1", PROMPT("1"))) "\n{", "bad.json:2: column"},
  };
  check_refused("bad.json", cases, COUNT(cases));
}

static void out_of_memory_is_an_error(void) {
  check_out_of_memory(FOLDER "routesim.jsonl");
  check_out_of_memory(FOLDER "bailian.jsonl");
  check_out_of_memory(FOLDER "vllm.json");
  check_out_of_memory(FOLDER "llmservingsim.jsonl");
}

int main(void) {
  RUN(routesim_prefixes_are_shared);
  RUN(compact_rows_may_tell_everything);
  RUN(wrong_compact_rows_are_named);
  RUN(bailian_sessions_have_a_root);
  RUN(bailian_blocks_of_512_are_known_by_their_number);
  RUN(bailian_rows_may_be_out_of_order_and_without_turns);
  RUN(bailian_turns_may_start_at_zero);
  RUN(wrong_bailian_rows_are_named);
  RUN(vllm_results_are_their_requests);
  RUN(wrong_vllm_results_are_named);
  RUN(vllm_requests_arrive_behind_the_client);
  RUN(inference_perf_reports_are_their_requests);
  RUN(guidellm_reports_are_their_requests);
  RUN(wrong_reports_are_named);
  RUN(llmservingsim_tokens_are_compared);
  RUN(wrong_llmservingsim_rows_are_named);
  RUN(llmservingsim_calls_are_rounds);
  RUN(llmservingsim_measurements_arrive_from_the_first);
  RUN(otel_spans_are_requests);
  RUN(otel_texts_may_be_lines);
  RUN(wrong_otel_texts_are_named);
  RUN(out_of_memory_is_an_error);
  return check_done();
}
