/* Traces that are CSV tables: BurstGPT, Vidur, splitwise-sim. */
#include "packed.h"
#include "trace_fixture.h"

#define FOLDER "tests/data/traces/"

static void burstgpt_arrives_from_its_first_row(void) {
  static const expected_request rows[] = {
      {0, 0, 310, 25, "", 0, "ChatGPT"},
      {1, 36000000, 940, 180, "", 0, "ChatGPT"},
      {2, 108000000, 505, 260, "", 0, "GPT-4"},
      {4, 133500000, 185, 215, "", 0, "ChatGPT"},
  };
  blis_workload *workload = read_trace(FOLDER "burstgpt_1.csv");
  check_requests(workload, rows, COUNT(rows));
  CHECK_STR(blis_workload_description(workload), "burstgpt trace burstgpt_1.csv");
  CHECK_EQ_I64(blis_workload_note_count(workload), 1);
  CHECK_CONTAINS(blis_workload_note_text(workload, 0),
                 "burstgpt_1.csv: failed requests skipped, since");
  blis_workload_free(workload);
}

static void burstgpt_sessions_have_rounds(void) {
  static const char first[] = "3c1b1f2e-8a55-4d0e-9d57-0a5d0a4c1a01";
  static const char second[] = "77f0d6a4-14c9-4a0c-8a7e-5be0c25d9b02";
  const expected_request rows[] = {
      {1, 0, 120, 64, second, 0, "ChatGPT"},       {0, 12000000, 880, 420, first, 0, "GPT-4"},
      {3, 32000000, 55, 12, "", 0, "ChatGPT"},     {4, 42000000, 201, 80, second, 1, "ChatGPT"},
      {2, 63250000, 1390, 210, first, 1, "GPT-4"},
  };
  blis_workload *workload = read_trace(FOLDER "burstgpt_2.csv");
  check_requests(workload, rows, COUNT(rows));
  CHECK_EQ_I64(blis_workload_note_count(workload), 0);
  blis_workload_free(workload);
}

static void vidur_keeps_its_times(void) {
  static const expected_request rows[] = {{0, 0, 350, 40, "", 0, ""},
                                          {1, 3215486, 410, 96, "", 0, ""},
                                          {2, 3506231, 905, 61, "", 0, ""}};
  blis_workload *workload = read_trace(FOLDER "vidur.csv");
  check_requests(workload, rows, COUNT(rows));
  blis_workload_free(workload);
}

static void splitwise_applications_are_clients(void) {
  static const expected_request rows[] = {{0, 0, 2048, 1, "", 0, "0"},
                                          {1, 1500000, 512, 32, "", 0, "0"},
                                          {2, 1500000, 1024, 128, "", 0, "1"}};
  blis_workload *workload = read_trace(FOLDER "splitwise.csv");
  check_requests(workload, rows, COUNT(rows));
  blis_workload_free(workload);
}

#define BURST "Timestamp,Model,Request tokens,Response tokens,Total tokens\n"
#define VIDUR "arrived_at,num_prefill_tokens,num_decode_tokens\n"
#define SPLIT "request_id,arrival_timestamp,batch_size,prompt_size,token_size\n"

static void wrong_rows_are_named(void) {
  static const bad_trace cases[] = {
      {BURST "x,GPT-4,1,2,3\n", "bad.csv:2: column 'Timestamp': 'x' is not a number"},
      {BURST "1,GPT-4,1,2,3\n-1,GPT-4,1,2,3\n",
       "bad.csv:3: column 'Timestamp': invalid value '-1'"},
      {BURST "1,GPT-4,1.5,2,3\n",
       "bad.csv:2: column 'Request tokens': '1.5' is not a whole number"},
      {BURST "1,GPT-4,1,-2,3\n", "bad.csv:2: column 'Response tokens': invalid value '-2': "
                                 "expected 0 to 1000000000"},
      {BURST "1,GPT-4,1,2\n", "bad.csv:2: "},
      {BURST, "bad.csv: the trace has no rows"},
      {BURST "1,GPT-4,1,0,1\n", "bad.csv: the trace has no rows"},
      {"Model,Request tokens,Response tokens\nGPT-4,1,2\n",
       "bad.csv: no column 'Timestamp'; the columns are Model"},
      {VIDUR "0,1\n", "bad.csv:2: "},
      {VIDUR "1e300,1,2\n", "column 'arrived_at': invalid value '1e300'"},
      {VIDUR "0,2000000000,2\n", "column 'num_prefill_tokens'"},
      {"num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
       "1,2,3,0.5\n",
       "no column 'arrived_at'"},
      {SPLIT "0,0,1,5,many\n", "bad.csv:2: column 'token_size': 'many' is not a number"},
      {SPLIT "0,0,2,5,6\n", "bad.csv:2: column 'batch_size': invalid value '2'"},
  };
  check_refused("bad.csv", cases, COUNT(cases));
}

static void packed_files_are_unpacked(void) {
  static const char content[] = VIDUR "0,10,20\n1,30,40\n";
  static const expected_request rows[] = {{0, 0, 10, 20, "", 0, ""},
                                          {1, 1000000, 30, 40, "", 0, ""}};
  for (packing how = PACKED_PLAIN; how <= PACKED_ZSTD; how++) {
    char packed[256];
    size_t size = pack(how, blis_slice_of(content), packed, sizeof packed);
    const char *path = temp_file("packed", "");
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(packed, 1, size, file) == size);
    CHECK(fclose(file) == 0);
    blis_workload *workload = read_trace(path);
    check_requests(workload, rows, COUNT(rows));
    blis_workload_free(workload);
  }
}

static void limits_count_rows_from_the_start(void) {
  blis_trace_options options = {.limit = 4};
  blis_workload *workload = read_with(FOLDER "burstgpt_1.csv", &options);
  CHECK_EQ_I64(blis_workload_count(workload), 3);
  blis_workload_free(workload);
}

static void out_of_memory_is_an_error(void) {
  check_out_of_memory(FOLDER "burstgpt_1.csv");
  check_out_of_memory(FOLDER "burstgpt_2.csv");
  check_out_of_memory(FOLDER "vidur.csv");
  check_out_of_memory(FOLDER "splitwise.csv");
}

static void azure_traces_may_count_images(void) {
  blis_workload *workload =
      read_trace(temp_file("lmm.csv", "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
                                      "2024-10-15 00:00:00.009930+00:00,2,300,5\n"
                                      "2024-10-15 00:00:01+00:00,0,20,7\n"));
  static const expected_request expected[] = {{0, 0, 300, 5, NULL, 0, NULL},
                                              {1, 990070, 20, 7, NULL, 0, NULL}};
  check_requests(workload, expected, COUNT(expected));
  blis_workload_free(workload);
}

int main(void) {
  RUN(burstgpt_arrives_from_its_first_row);
  RUN(burstgpt_sessions_have_rounds);
  RUN(vidur_keeps_its_times);
  RUN(splitwise_applications_are_clients);
  RUN(wrong_rows_are_named);
  RUN(packed_files_are_unpacked);
  RUN(limits_count_rows_from_the_start);
  RUN(out_of_memory_is_an_error);
  RUN(azure_traces_may_count_images);
  return check_done();
}
