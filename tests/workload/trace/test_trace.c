/* Recognising traces, and the Mooncake and Azure formats. */
#include "workload/trace/read/trace.h"

#include "check.h"
#include "temp_file.h"
#include "workload/statistics.h"

#ifndef BLIS_SHARED_DIR
#define BLIS_SHARED_DIR "../shared"
#endif

enum { OOM_ATTEMPTS = 2000 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static blis_error error;
static blis_alloc heap;

static blis_workload *read_trace(const char *path, const blis_trace_options *options) {
  blis_workload *workload = NULL;
  CHECK_OK(blis_trace_read(&heap, path, options, &workload, &error), &error);
  return workload;
}

static void check_refused(const char *path, const blis_trace_options *options,
                          const char *message) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_workload *workload = NULL;
  error.message[0] = '\0';
  CHECK(blis_trace_read(&alloc, path, options, &workload, &error) != BLIS_OK);
  CHECK_CONTAINS(error.message, message);
  CHECK(workload == NULL);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

/* A trace's file, and part of what is said about it. */
typedef struct bad_trace {
  const char *content;
  const char *message;
} bad_trace;

static void check_all_refused(const char *name, const bad_trace *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    check_refused(temp_file(name, cases[i].content), NULL, cases[i].message);
  }
}

/* Mooncake. */

static void mooncake_ids_are_blocks_of_512_tokens(void) {
  blis_workload *workload = read_trace("tests/data/mooncake.jsonl", NULL);
  CHECK_EQ_I64(blis_workload_count(workload), 30);
  CHECK_STR(blis_workload_description(workload), "mooncake trace mooncake.jsonl");
  const blis_request *first = blis_workload_request(workload, 0);
  CHECK(first->arrival_us == 0 && first->number == 0);
  CHECK(first->prompt_tokens == 1990 && first->shared_tokens == 1990);
  CHECK(first->output_tokens == 474 && first->max_output_tokens == 474);
  CHECK_EQ_I64(first->segment_count, 4);
  CHECK_EQ_I64(first->segments[0].length_tokens, 512);
  CHECK_EQ_I64(first->segments[3].length_tokens, 1990 - 3 * 512);
  CHECK_EQ_I64(first->segments[3].stream, 3);
  CHECK_EQ_I64(blis_workload_request(workload, 29)->arrival_us, 9000000);

  blis_workload_statistics s;
  CHECK_OK(blis_workload_measure(&heap, workload, 512, &s, &error), &error);
  CHECK_EQ_I64(s.prompt.sum, 202043);
  CHECK_EQ_I64(s.reused_tokens, 102 * 512);
  blis_workload_free(workload);
}

static void mooncake_rows_may_have_fewer_ids(void) {
  const char *path =
      temp_file("fewer.jsonl", "{\"timestamp\": 1.5, \"input_length\": 1200, \"output_length\": 0, "
                               "\"hash_ids\": [7, 8]}\n"
                               "\n"
                               "{\"output_length\":3,\"input_length\":0,\"timestamp\":2}");
  blis_workload *workload = read_trace(path, NULL);
  const blis_request *first = blis_workload_request(workload, 0);
  CHECK(first->arrival_us == 0 && first->output_tokens == 0);
  CHECK(first->prompt_tokens == 1200 && first->shared_tokens == 1024);
  const blis_request *second = blis_workload_request(workload, 1);
  CHECK(second->prompt_tokens == 0 && second->segment_count == 0);
  CHECK(second->segments == NULL && second->number == 1);
  blis_workload_free(workload);

  blis_trace_options options = {.hash_block_tokens = 700};
  workload = read_trace(path, &options);
  CHECK_EQ_I64(blis_workload_request(workload, 0)->shared_tokens, 1200);
  blis_workload_free(workload);
}

static void ids_are_numbers_of_64_bits_or_strings(void) {
  blis_workload *workload = read_trace(
      temp_file("hashes.jsonl", "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 4, "
                                "\"hash_ids\": [18446744073709551615, 18446744073709551614]}\n"
                                "{\"timestamp\": 1, \"input_length\": 1024, \"output_length\": 4, "
                                "\"hash_ids\": [\"18446744073709551615\", \"9f86d081\"]}\n"
                                "{\"timestamp\": 2, \"input_length\": 1024, \"output_length\": 4, "
                                "\"hash_ids\": [18446744073709551615, \"9f86d081\"], \"unread\": "
                                "1234567890123456789012}"),
      NULL);
  const blis_segment *rows[] = {blis_workload_request(workload, 0)->segments,
                                blis_workload_request(workload, 1)->segments,
                                blis_workload_request(workload, 2)->segments};
  CHECK(rows[0][0].stream != rows[0][1].stream);
  CHECK(rows[2][0].stream == rows[0][0].stream);
  CHECK(rows[2][1].stream == rows[1][1].stream);
  CHECK(rows[1][1].stream != rows[0][1].stream);
  blis_workload_free(workload);
}

#define ROW "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1}\n"

static void wrong_mooncake_rows_are_named(void) {
  static const bad_trace cases[] = {
      {ROW "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, "
           "\"hash_ids\": [1, 2, 3]}",
       "bad.jsonl:2: key 'hash_ids'"},
      {ROW "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, "
           "\"hash_ids\": [1, 2, 3]}",
       "has 3 ids; 600 tokens in blocks of 512 need 2"},
      {ROW "{\"timestamp\": 0, \"input_length\": -5, \"output_length\": 1}",
       "bad.jsonl:2: key 'input_length': invalid value -5"},
      {ROW "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": \"x\"}",
       "bad.jsonl:2: key 'output_length'"},
      {ROW "{\"timestamp\": -1, \"input_length\": 5, \"output_length\": 1}",
       "bad.jsonl:2: key 'timestamp'"},
      {ROW "{\"input_length\": 5, \"output_length\": 1}", "bad.jsonl:2: key 'timestamp'"},
      {ROW "{\"timestamp\": 0, \"input_length\": 5000000000, "
           "\"output_length\": 1}",
       "bad.jsonl:2: key 'input_length': invalid value 5000000000"},
      {ROW "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, "
           "\"hash_ids\": [1, -2]}",
       "bad.jsonl:2: key 'hash_ids'"},
      {ROW "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, "
           "\"hash_ids\": 12}",
       "bad.jsonl:2: key 'hash_ids'"},
      {ROW ROW "{\"timestamp\": 0, \"input_le", "bad.jsonl:3: column"},
      {ROW "[1]", "bad.jsonl:2:"},
      {ROW "{\"timestamp\": 0, \"timestamp\": 0, \"input_length\": 600, "
           "\"output_length\": 1, \"hash_ids\": []}",
       "bad.jsonl:2:"},
      {ROW "{\"timestamp\": 00, \"input_length\": 600, "
           "\"output_length\": 1, \"hash_ids\": []}",
       "bad.jsonl:2:"},
      {ROW "{\"timestamp\": 0, \"input_length\": 600, "
           "\"output_length\": 1, \"hash_ids\": [1,]}",
       "bad.jsonl:2:"},
  };
  check_all_refused("bad.jsonl", cases, COUNT(cases));
}

/* A further key in a line sends it to the full JSON reader. */
static void lines_as_published_are_read_as_any_others(void) {
  FILE *from = fopen("tests/data/mooncake.jsonl", "rb");
  CHECK(from != NULL);
  char line[4096];
  static char extended[1 << 16];
  size_t length = 0;
  while (fgets(line, sizeof line, from) != NULL) {
    CHECK(line[0] == '{');
    length += (size_t)snprintf(extended + length, sizeof extended - length,
                               "{\"type\": \"text\", %s", line + 1);
  }
  fclose(from);
  blis_workload *plain = read_trace("tests/data/mooncake.jsonl", NULL);
  blis_workload *full = read_trace(temp_file("full.jsonl", extended), NULL);
  CHECK_EQ_I64(blis_workload_count(full), blis_workload_count(plain));
  for (size_t i = 0; i < blis_workload_count(plain); i++) {
    const blis_request *a = blis_workload_request(plain, i);
    const blis_request *b = blis_workload_request(full, i);
    CHECK(a->arrival_us == b->arrival_us && a->number == b->number);
    CHECK(a->prompt_tokens == b->prompt_tokens);
    CHECK(a->output_tokens == b->output_tokens);
    CHECK(a->shared_tokens == b->shared_tokens);
    CHECK_EQ_I64(a->segment_count, b->segment_count);
    for (uint32_t k = 0; k < a->segment_count; k++) {
      CHECK(a->segments[k].stream == b->segments[k].stream);
      CHECK(a->segments[k].length_tokens == b->segments[k].length_tokens);
    }
  }
  blis_workload_free(plain);
  blis_workload_free(full);
}

static void odd_lines_that_are_json_are_read(void) {
  static const char *const lines[] = {
      "{\"timestamp\":3,\"input_length\":513,\"output_length\":2,"
      "\"hash_ids\":[9,4]}",
      " { \"timestamp\" : 3 , \"input_length\" : 513 ,"
      "\"output_length\":2,  \"hash_ids\" : [ 9 , 4 ] } ",
      "{\"hash_ids\":[9,4.0],\"timestamp\":3e0,\"input_length\":513.0,"
      "\"output_length\":2}",
      "{\"timestamp\":3,\"input_length\":513,\"output_length\":2,"
      "\"hash_ids\":[9,4],\"extra\":[{}]}",
  };
  for (size_t i = 0; i < COUNT(lines); i++) {
    blis_trace_options options = {.format = "mooncake"};
    blis_workload *workload = read_trace(temp_file("odd.jsonl", lines[i]), &options);
    const blis_request *request = blis_workload_request(workload, 0);
    CHECK(request->arrival_us == 0 && request->prompt_tokens == 513);
    CHECK(request->output_tokens == 2 && request->shared_tokens == 513);
    CHECK(request->segments[0].stream == 9);
    CHECK(request->segments[1].length_tokens == 1);
    blis_workload_free(workload);
  }
}

/* Azure. */

static void azure_2023_arrives_from_its_first_row(void) {
  blis_workload *workload = read_trace("tests/data/azure_2023.csv", NULL);
  CHECK_EQ_I64(blis_workload_count(workload), 40);
  const blis_request *first = blis_workload_request(workload, 0);
  CHECK(first->arrival_us == 0 && first->prompt_tokens == 199);
  CHECK(first->output_tokens == 117 && first->max_output_tokens == 117);
  /* 18:15:46.5000000 to 18:15:46.9963156 and to 18:16:13.8087588. */
  CHECK_EQ_I64(blis_workload_request(workload, 1)->arrival_us, 496315);
  const blis_request *last = blis_workload_request(workload, 39);
  CHECK(last->arrival_us == 27308758 && last->prompt_tokens == 1314);
  CHECK(last->output_tokens == 400 && last->number == 39);
  blis_workload_free(workload);
}

#define AZURE "TIMESTAMP,ContextTokens,GeneratedTokens\n"

static void azure_times_may_cross_days_and_zones(void) {
  blis_workload *workload =
      read_trace(temp_file("azure.csv", AZURE "2024-02-28 23:59:59.999999+00:00,1,2\n"
                                              "2024-02-29 00:00:00+00:00,3,0\n"
                                              "2024-03-01T00:00:00Z,5,6\n"
                                              "2024-03-01 01:00:00.0000019+01:00,7,8\n"
                                              "2025-01-01 00:00:00,9,10\n"),
                 NULL);
  static const int64_t arrivals_us[] = {0, 1, INT64_C(86400000001), INT64_C(86400000002),
                                        INT64_C(86400000001) + 306 * INT64_C(86400000000)};
  for (size_t i = 0; i < COUNT(arrivals_us); i++) {
    const blis_request *request = blis_workload_request(workload, i);
    CHECK_EQ_I64(request->arrival_us, arrivals_us[i]);
    CHECK_EQ_I64(request->prompt_tokens, 2 * i + 1);
  }
  blis_workload_free(workload);
}

static void azure_rows_may_be_out_of_order(void) {
  blis_workload *workload = read_trace(temp_file("azure.csv", AZURE "2024-05-10 00:00:02,1,2\n"
                                                                    "2024-05-10 00:00:01,3,4\n"),
                                       NULL);
  CHECK_EQ_I64(blis_workload_request(workload, 0)->number, 1);
  CHECK_EQ_I64(blis_workload_request(workload, 0)->arrival_us, 0);
  CHECK_EQ_I64(blis_workload_request(workload, 1)->arrival_us, 1000000);
  blis_workload_free(workload);
}

static void wrong_azure_rows_are_named(void) {
  static const bad_trace cases[] = {
      {AZURE "2024-02-30 00:00:00,1,2\n",
       "bad.csv:2: column 'TIMESTAMP': '2024-02-30 00:00:00' is not a time"},
      {AZURE "2023-02-29 00:00:00,1,2\n", "is not a time"},
      {AZURE "2024-02-01 24:00:00,1,2\n", "is not a time"},
      {AZURE "2024-02-01 00:00:00.,1,2\n", "is not a time"},
      {AZURE "2024-02-01 00:00:00 x,1,2\n", "is not a time"},
      {AZURE "1700000000,1,2\n", "is not a time"},
      {AZURE "2024-02-01 00:00:00+1:00,1,2\n", "is not a time"},
      {AZURE "2024-02-01 00:00:00,1,2\n2024-02-01 00:00:00,-1,2\n",
       "bad.csv:3: column 'ContextTokens': invalid value '-1'"},
      {AZURE "2024-02-01 00:00:00,1,many\n",
       "bad.csv:2: column 'GeneratedTokens': 'many' is not a number"},
      {AZURE "2024-02-01 00:00:00,1,2.5\n", "is not a whole number"},
      {AZURE "2024-02-01 00:00:00,1,2\n2024-02-01 00:0", "bad.csv:3:"},
      {AZURE, "the trace has no rows"},
  };
  check_all_refused("bad.csv", cases, COUNT(cases));
}

/* Any format. */

static void limits_count_rows_from_the_start(void) {
  static const char *const paths[] = {"tests/data/mooncake.jsonl", "tests/data/azure_2023.csv",
                                      "tests/data/tracev2/mt.csv"};
  for (size_t i = 0; i < COUNT(paths); i++) {
    blis_trace_options options = {.limit = 7};
    blis_workload *workload = read_trace(paths[i], &options);
    CHECK_EQ_I64(blis_workload_count(workload), 7);
    CHECK_EQ_I64(blis_workload_request(workload, 6)->number, 6);
    blis_workload_free(workload);
  }
}

static void formats_are_named_or_recognised(void) {
  for (size_t i = 0; i < blis_trace_format_count(); i++) {
    CHECK(strlen(blis_trace_format_name(i)) > 0 && strlen(blis_trace_format_text(i)) > 0);
    for (size_t k = 0; k < i; k++) {
      CHECK(strcmp(blis_trace_format_name(k), blis_trace_format_name(i)) != 0);
    }
  }
  blis_trace_options options = {.format = "azure"};
  blis_workload_free(read_trace("tests/data/azure_2023.csv", &options));
  options.format = "moncake";
  check_refused("x", &options, "unknown trace format 'moncake'; did you mean 'mooncake'?");
  check_refused(temp_file("x.txt", "hello\n"), NULL, "not recognized as a trace; as a table: ");
  check_refused(temp_file("x.csv", "TIMESTAMP,ContextToken,GeneratedTokens\n"), NULL,
                "is known to be the prompt among TIMESTAMP, ContextToken, GeneratedTokens");
  check_refused(temp_file("x.jsonl", "{\"timestamp\": 0, \"input_lenght\": 1, "
                                     "\"output_length\": 5}\n"),
                NULL, "is known to be the prompt among timestamp, input_lenght, output_length");
  check_refused(temp_file("x.txt", ""), NULL, "the file is empty");
  check_refused("tests/data/nothing.csv", NULL, "tests/data/nothing.csv");
  options = (blis_trace_options){.limit = -1};
  check_refused("x", &options, "limit is -1; it must be at least 0");
}

/* Public traces. */

/* NULL when the folder is not there. */
static const char *shared_trace(const char *name) {
  static char path[512];
  const char *shared = getenv("BLIS_SHARED_DIR");
  snprintf(path, sizeof path, "%s/traces/%s", shared != NULL ? shared : BLIS_SHARED_DIR, name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    printf("# no %s\n", path);
    return NULL;
  }
  fclose(file);
  return path;
}

static void the_public_mooncake_trace_has_its_known_numbers(void) {
  const char *path = shared_trace("mooncake_conversation.jsonl");
  if (path == NULL) {
    return;
  }
  blis_workload *workload = read_trace(path, NULL);
  blis_workload_statistics s;
  CHECK_OK(blis_workload_measure(&heap, workload, 512, &s, &error), &error);
  CHECK_EQ_I64(s.count, 12031);
  CHECK(s.last_arrival_us - s.first_arrival_us > INT64_C(3530000000));
  CHECK_EQ_I64((int64_t)s.prompt.mean, 12035);
  CHECK_EQ_I64((int64_t)s.output.mean, 342);
  int64_t references = 0;
  for (size_t i = 0; i < blis_workload_count(workload); i++) {
    references += blis_workload_request(workload, i)->segment_count;
  }
  CHECK_EQ_I64(references, 288500);
  blis_workload_free(workload);
}

static void the_public_azure_trace_has_its_known_numbers(void) {
  const char *path = shared_trace("azure_2023_conv.csv");
  if (path == NULL) {
    return;
  }
  blis_workload *workload = read_trace(path, NULL);
  CHECK_EQ_I64(blis_workload_count(workload), 19366);
  /* 18:15:46.6805900 to 19:14:08.4025270. */
  CHECK_EQ_I64(blis_workload_request(workload, 19365)->arrival_us, INT64_C(3501721937));
  blis_workload_free(workload);
}

static blis_status read_with_failure_at(const char *path, long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_workload *workload = NULL;
  blis_status status = blis_trace_read(&alloc, path, NULL, &workload, &error);
  blis_workload_free(workload);
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status;
}

static void out_of_memory_is_an_error(void) {
  static const char *const paths[] = {"tests/data/mooncake.jsonl", "tests/data/azure_2023.csv",
                                      "tests/data/tracev2/o"};
  for (size_t i = 0; i < COUNT(paths); i++) {
    long request = 1;
    while (read_with_failure_at(paths[i], request) != BLIS_OK) {
      request++;
      CHECK(request < OOM_ATTEMPTS);
    }
    CHECK(request > 10);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(mooncake_ids_are_blocks_of_512_tokens);
  RUN(mooncake_rows_may_have_fewer_ids);
  RUN(ids_are_numbers_of_64_bits_or_strings);
  RUN(wrong_mooncake_rows_are_named);
  RUN(lines_as_published_are_read_as_any_others);
  RUN(odd_lines_that_are_json_are_read);
  RUN(azure_2023_arrives_from_its_first_row);
  RUN(azure_times_may_cross_days_and_zones);
  RUN(azure_rows_may_be_out_of_order);
  RUN(wrong_azure_rows_are_named);
  RUN(limits_count_rows_from_the_start);
  RUN(formats_are_named_or_recognised);
  RUN(the_public_mooncake_trace_has_its_known_numbers);
  RUN(the_public_azure_trace_has_its_known_numbers);
  RUN(out_of_memory_is_an_error);
  return check_done();
}
