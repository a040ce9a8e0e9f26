/* What a trace has and nobody reads is told. */
#include "trace_fixture.h"

typedef struct example {
  const char *content;
  const char *unread; /* NULL = everything is read, or known */
} example;

static const example examples[] = {
    {"{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 1}\n", NULL},
    {"{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 1}\n"
     "{\"output_length\": 1, \"timestamp\": 0, \"user\": 3, "
     "\"input_length\": 5, \"max_tokens\": 7}\n"
     "{\"timestamp\": 0, \"user\": 5, \"input_length\": 5, "
     "\"output_length\": 1}\n",
     "'user', 'max_tokens'"},
    {"{\"chat_id\": 1, \"timestamp\": 0, \"input_length\": 5, "
     "\"output_length\": 1, \"hash\": 3}\n",
     "'hash'"},
    {"{\"ts\": 0, \"prompt_tokens\": 5, \"gen_tokens\": 1, "
     "\"prefix_length\": 3}\n",
     "'prefix_length'"},
    {"{\"arrival_time_ns\": 0, \"wish\": 1, \"sub_requests\": "
     "[{\"input_toks\": "
     "5, \"output_toks\": 1, \"tool\": 4}]}\n",
     "'wish', 'tool'"},
    {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,3,4\n", NULL},
    {"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
     "2023-11-16 18:15:46,1,3,4\n",
     "'NumImages'"},
    {"arrived_at,num_prefill_tokens,num_decode_tokens,a,b,c,d,e,f,g\n"
     "0,3,4,,,,,,,\n",
     "'a', 'b', 'c', 'd', 'e', 'f' and others"},
    {"arrived_at,num_prefill_tokens,num_decode_tokens,a\033[1m\n0,3,4,\n", "'a\\x1b[1m'"},
    {"{\"input_lens\": [3], \"output_lens\": [4], \"start_times\": [0], "
     "\"mean_ttft_ms\": 1, \"ttfts\": [1], \"users\": [\"x\"]}",
     "'users'"},
};

static const char *unread_of(const blis_workload *workload) {
  for (size_t i = 0; i < blis_workload_note_count(workload); i++) {
    const char *note = blis_workload_note_text(workload, i);
    static const char mark[] = "fields that are not read: ";
    const char *place = strstr(note, mark);
    if (place != NULL) {
      return place + strlen(mark);
    }
  }
  return NULL;
}

static void unread_fields_are_told(void) {
  for (size_t i = 0; i < COUNT(examples); i++) {
    blis_workload *workload = read_trace(temp_file("trace.txt", examples[i].content));
    const char *unread = unread_of(workload);
    CHECK((unread == NULL) == (examples[i].unread == NULL));
    if (unread != NULL) {
      CHECK_STR(unread, examples[i].unread);
    }
    blis_workload_free(workload);
  }
}

static void published_files_are_read_whole(void) {
  static const char *const paths[] = {"tests/data/azure_2023.csv",
                                      "tests/data/mooncake.jsonl",
                                      "tests/data/traces/bailian.jsonl",
                                      "tests/data/traces/burstgpt_1.csv",
                                      "tests/data/traces/burstgpt_2.csv",
                                      "tests/data/traces/routesim.jsonl",
                                      "tests/data/traces/splitwise.csv",
                                      "tests/data/traces/vidur.csv",
                                      "tests/data/traces/vllm.json",
                                      "tests/data/tracev2/mt.csv",
                                      "tests/data/tracev2/os.csv",
                                      "tests/data/tracev2/adt.csv",
                                      "tests/data/traces/llmservingsim.jsonl"};
  for (size_t i = 0; i < COUNT(paths); i++) {
    blis_workload *workload = read_trace(paths[i]);
    CHECK(unread_of(workload) == NULL);
    blis_workload_free(workload);
  }
}

int main(void) {
  RUN(unread_fields_are_told);
  RUN(published_files_are_read_whole);
  return check_done();
}
