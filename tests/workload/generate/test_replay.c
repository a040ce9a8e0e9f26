/*
 * Replays: token ids as recorded of BLIS (Go, inference-sim f90a1e3a), sessions
 * that wait for answers, think times, wrong rounds.
 */
#include "workload/generate/replay.h"
#include "workload/go_blis.h"

#include "generator_fixture.h"
#include "temp_file.h"
#include "workload/trace/read/trace.h"

static blis_error error;

static blis_workload *must_read(const blis_alloc *alloc, const char *path) {
  blis_workload *workload;
  CHECK_OK(blis_trace_read(alloc, path, NULL, &workload, &error), &error);
  return workload;
}

static blis_replay *must_replay(const blis_alloc *alloc, const blis_workload *workload,
                                const blis_replay_options *options) {
  blis_replay *replay;
  CHECK_OK(blis_replay_new(alloc, workload, options, &replay, &error), &error);
  return replay;
}

/* "request_0 500000 53:7ec3a7f194143f89 1:ed98584e2c805fff" */
static void last_tokens(const blis_replay *replay, const blis_intern *strings,
                        const blis_request *request, char line[LINE_SIZE]) {
  static int32_t prompt[MAX_TOKENS];
  static int32_t output[MAX_TOKENS];
  char id[BLIS_REQUEST_ID_SIZE];
  CHECK(blis_replay_tokens(replay, prompt, output));
  snprintf(line, LINE_SIZE, "%.160s %" PRId64 " %" PRIu32 ":%016" PRIx64 " %" PRIu32 ":%016" PRIx64,
           blis_request_id(request, strings, id), request->arrival_us, request->prompt_tokens,
           hash_tokens(prompt, request->prompt_tokens), request->output_tokens,
           hash_tokens(output, request->output_tokens));
}

static bool next_request(blis_replay *replay, blis_request *request) {
  blis_request_source source = blis_replay_source(replay);
  bool done;
  CHECK_OK(source.next(source.state, request, &done, &error), &error);
  return !done;
}

/* The follow-up of a request that ends service_us after it came. */
static bool follow(blis_replay *replay, const blis_request *request, int64_t service_us,
                   blis_request *follow_up) {
  blis_request_source source = blis_replay_source(replay);
  const blis_request_outcome outcome = {.end_us = request->arrival_us + service_us,
                                        .produced_tokens = (int64_t)request->output_tokens - 1,
                                        .is_completed = true};
  bool has_follow_up;
  CHECK_OK(source.ended(source.state, request, &outcome, follow_up, &has_follow_up, &error),
           &error);
  return has_follow_up;
}

/* Recorded tokens. */

typedef struct recorded {
  const char *trace;
  bool sessions_wait;
  const char *lines[16];
} recorded;

#define T1                                                                                         \
  {                                                                                                \
    "request_0 500000 53:7ec3a7f194143f89 1:ed98584e2c805fff",                                     \
        "request_1 1000000 60:b07a8fccd8be919b 1:bf5381291de7ab0a",                                \
        "request_2 1500000 50:2e0991703e08ff91 3:854db1d9fac2565d",                                \
        "request_3 2000000 54:b86f3a3cf337cae3 7:582efc026247b99e"                                 \
  }

static const recorded cases[] = {{"t1", false, T1},
                                 {"t1", true, T1},
                                 {"mt",
                                  false,
                                  {"request_0 51115 30:ec309d1829cf7c87 10:38df9f555f815ff2",
                                   "request_1 831625 30:8c434bb9754f6fbf 10:9b8b46de695967d8",
                                   "request_2 1188638 109:7b6f14bfd9274d17 10:db4783e6e6c8c711",
                                   "request_3 1969018 109:ddd245e7dfc0dad1 10:7c5941fa65ae9665",
                                   "request_4 2103353 30:023bbccba4d9c0e9 10:d587868d02f89b35",
                                   "request_5 2326094 148:b4fa26ad23785b09 10:c1ef9398ad658055",
                                   "request_6 3106474 148:789ae4601d36e116 10:0df38e55aaf57129",
                                   "request_7 3240746 109:1fea66d947aa91ef 10:8687a233ecbaf6ee",
                                   "request_8 3251616 30:9b7d6957c5cc77ca 10:feb9f52b6ac0406f",
                                   "request_9 4378453 148:d007a40da837b1ee 10:40d92f2b4e5f27ac",
                                   "request_10 4390622 109:40990a70c79950f3 10:362ca8491bc10216",
                                   "request_11 4924840 30:da7c89623243fd50 10:cd854cb80b253e78",
                                   "request_12 5528386 148:a116ed3b1574030f 10:0d257a14936a43ff",
                                   "request_13 6062233 109:946a13ca0394c0ec 10:460da57ff360fee0",
                                   "request_14 7199689 148:b448cafb4a9e128f 10:31663c768d1f22cc"}},
                                 {"mt",
                                  true,
                                  {"request_0 51115 30:c5a97b942d6af86d 10:0091526dc6bd273a",
                                   "request_1 831625 30:30efe6f37ad49972 10:288abcd3011ecbf1",
                                   "request_4 2103353 30:d1c20e2d12cc2f59 10:75cc3e3dd4b1d770",
                                   "request_8 3251616 30:13fe3f546e29e5a7 10:3d0ab05ca6c7d81e",
                                   "request_11 4924840 30:51206bcaa14711e5 10:2640ab9cc9c184bb"}},
                                 {"cct",
                                  false,
                                  {"request_0 0 80:c6fa6903b6d31f67 4:824a196e9d9de61f",
                                   "request_1 30000 80:cf258c752e32a0ff 4:a78b06b05817203f",
                                   "request_2 60000 80:e05a72b5000e78cf 4:f88b0997c28554cf",
                                   "request_3 154692 80:58ee53393b86ee86 4:03c43a4abf523963",
                                   "request_4 191346 80:5c5ddeffb44b6690 4:b83cd55d614e88a3",
                                   "request_5 215684 80:ee0f093d61a4803f 4:6f1c14a1b220ce5a",
                                   "request_6 309053 80:c4f8e60f64821519 4:debe47c8f14f394c"}},
                                 {"cct",
                                  true,
                                  {"request_0 0 80:927942cf5cb7441d 4:2b5166eeebdbebd6",
                                   "request_1 30000 80:d281db76b93c9f90 4:2430c3bde15d2e20",
                                   "request_2 60000 80:7ad76cd9f5c5a186 4:4e8f146bb08ca467"}}};

static void check_recorded(const recorded *one) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  char path[64];
  snprintf(path, sizeof path, "tests/data/tracev2/%s.csv", one->trace);
  blis_workload *workload = must_read(&alloc, path);
  const blis_replay_options options = {
      .sessions_wait = one->sessions_wait, .seed = 42, .keep_tokens = true};
  blis_replay *replay = must_replay(&alloc, workload, &options);
  blis_request request;
  for (size_t i = 0; one->lines[i] != NULL; i++) {
    char line[LINE_SIZE];
    CHECK(next_request(replay, &request));
    last_tokens(replay, blis_workload_strings(workload), &request, line);
    CHECK_STR(line, one->lines[i]);
  }
  CHECK(!next_request(replay, &request));
  blis_replay_free(replay);
  blis_workload_free(workload);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void tokens_are_as_recorded(void) {
  for (size_t i = 0; i < COUNT(cases); i++) {
    check_recorded(&cases[i]);
  }
}

/* Sessions. */

static void rounds_follow_answers(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_workload *workload = must_read(&alloc, "tests/data/tracev2/mt.csv");
  const blis_replay_options options = {.sessions_wait = true, .seed = 42};
  blis_replay *replay = must_replay(&alloc, workload, &options);
  blis_request request;
  blis_request second;
  blis_request third;
  CHECK(next_request(replay, &request));
  CHECK(follow(replay, &request, 137326, &second));
  char id[BLIS_REQUEST_ID_SIZE];
  const blis_intern *strings = blis_workload_strings(workload);
  CHECK_STR(blis_request_id(&second, strings, id), "session_sess_3732988374295573383_round_1_1");
  CHECK_EQ_I64(second.arrival_us, 1325964);
  CHECK_EQ_I64(second.deadline_us, 301325964);
  CHECK_EQ_I64(second.prompt_tokens, 109);
  CHECK_EQ_I64(second.output_tokens, 10);
  CHECK_EQ_I64(second.segment_count, 0);
  CHECK(follow(replay, &second, 1, &third));
  CHECK_EQ_I64(third.prompt_tokens, 148);
  CHECK_EQ_I64(third.arrival_us, 1325964 + 1 + 2326094 - 1188638);
  CHECK(!follow(replay, &third, 1, &request));
  blis_session_counts counts;
  blis_replay_get_session_counts(replay, &counts);
  CHECK_EQ_I64(counts.sessions, 5);
  CHECK_EQ_I64(counts.completed, 1);
  CHECK_EQ_I64(counts.follow_ups, 2);
  blis_replay_free(replay);
  blis_workload_free(workload);
}

#define HEAD                                                                                       \
  "request_id,session_id,round_index,prefix_group,prefix_length,"                                  \
  "input_tokens,output_tokens,arrival_time_us"

static blis_workload *trace_of(const blis_alloc *alloc, const char *header, const char *csv) {
  char text[256];
  snprintf(text, sizeof text, "trace_version: 3\n%s", header);
  temp_file("trace.yaml", text);
  return must_read(alloc, temp_file("trace.csv", csv));
}

/* Prefix 40, input 30, output 10, of which the cache holds 9, input 20. */
static void prompts_grow(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_workload *workload = trace_of(&alloc, "session_context_growth: accumulate\n",
                                     HEAD "\n0,s,0,g,40,30,10,1000\n"
                                          "1,s,1,,0,20,5,6000\n2,,0,g,40,7,1,500\n");
  const blis_replay_options options = {.sessions_wait = true, .seed = 42, .keep_tokens = true};
  blis_replay *replay = must_replay(&alloc, workload, &options);
  blis_request other;
  blis_request request;
  blis_request next;
  CHECK(next_request(replay, &other));
  CHECK_EQ_I64(other.number, 2);
  CHECK(next_request(replay, &request));
  CHECK_EQ_I64(request.shared_tokens, 70);
  CHECK(request.shares_output && !request.shares_last_output);
  CHECK(follow(replay, &request, 100, &next));
  CHECK_EQ_I64(next.arrival_us, 1100 + 5000);
  CHECK_EQ_I64(next.prompt_tokens, 40 + 30 + 9 + 20);
  CHECK_EQ_I64(next.segment_count, 2);
  CHECK(next.segments[0].stream == request.segments[0].stream);
  CHECK(next.segments[1].stream == request.segments[1].stream);
  CHECK_EQ_I64(next.segments[1].length_tokens, 59);
  CHECK_STR(blis_intern_text(blis_workload_strings(workload), next.prefix_group), "g");
  static int32_t first[128];
  static int32_t second[128];
  static int32_t output[128];
  CHECK(blis_replay_tokens(replay, second, output));
  blis_replay_free(replay);
  replay = must_replay(&alloc, workload, &options);
  CHECK(next_request(replay, &other));
  CHECK(next_request(replay, &request));
  CHECK(blis_replay_tokens(replay, first, output));
  CHECK(memcmp(first, second, 70 * sizeof *first) == 0);
  CHECK(memcmp(output, second + 70, 9 * sizeof *first) == 0);
  blis_replay_free(replay);
  blis_workload_free(workload);
}

static int64_t second_arrival(const blis_workload *workload, const blis_replay_options *options) {
  blis_alloc alloc = blis_alloc_heap();
  blis_replay *replay = must_replay(&alloc, workload, options);
  blis_request request;
  blis_request next = {0};
  CHECK(next_request(replay, &request));
  bool has_next = follow(replay, &request, 100, &next);
  blis_replay_free(replay);
  return has_next ? next.arrival_us : -1;
}

static void think_times_have_an_order(void) {
  blis_alloc alloc = blis_alloc_heap();
  const blis_distribution_spec constant = CONSTANT(777);
  blis_replay_options options = {.sessions_wait = true, .seed = 42};
  blis_workload *workload = trace_of(&alloc, "",
                                     HEAD ",think_time_us\n0,s,0,,0,30,10,1000,0\n"
                                          "1,s,1,,0,20,5,6000,250\n");
  CHECK_EQ_I64(second_arrival(workload, &options), 1100 + 250);
  options.think = &constant;
  CHECK_EQ_I64(second_arrival(workload, &options), 1100 + 777);
  options.horizon_us = 1876;
  CHECK_EQ_I64(second_arrival(workload, &options), -1);
  blis_workload_free(workload);
  options = (blis_replay_options){.sessions_wait = true, .seed = 42};
  workload = trace_of(&alloc, "",
                      HEAD ",think_time_us\n0,s,0,,0,30,10,1000,0\n"
                           "1,s,1,,0,20,5,6000,0\n");
  CHECK_EQ_I64(second_arrival(workload, &options), 1100);
  options.rules = &blis_workload_go_blis;
  CHECK_EQ_I64(second_arrival(workload, &options), 1100 + 5000);
  blis_workload_free(workload);
}

/* The second prompt of a session that the trace knows the content of. */
static void known_content_stays(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_workload *workload = blis_workload_new(&alloc);
  uint32_t session;
  CHECK(blis_workload_text(workload, "s", 1, &session) == BLIS_OK);
  const blis_segment segments[] = {{.stream = 77, .length_tokens = 64},
                                   {.stream = 78, .length_tokens = 32}};
  blis_request request = {.prompt_tokens = 80,
                          .output_tokens = 4,
                          .max_output_tokens = 4,
                          .segments = segments,
                          .segment_count = 1,
                          .shared_tokens = 64,
                          .session = session};
  CHECK(blis_workload_add(workload, &request) == BLIS_OK);
  request.arrival_us = 500;
  request.round_index = 1;
  request.segment_count = 2;
  request.shared_tokens = 96;
  request.prompt_tokens = 120;
  request.number = 1;
  CHECK(blis_workload_add(workload, &request) == BLIS_OK);
  CHECK(blis_workload_seal(workload) == BLIS_OK);
  const blis_replay_options options = {.sessions_wait = true, .seed = 42, .keep_tokens = true};
  blis_replay *replay = must_replay(&alloc, workload, &options);
  blis_request next;
  CHECK(next_request(replay, &request));
  CHECK(follow(replay, &request, 2000, &next));
  CHECK_EQ_I64(next.arrival_us, 2500);
  CHECK_EQ_I64(next.number, -1);
  CHECK_EQ_I64(next.prompt_tokens, 120);
  CHECK_EQ_I64(next.segment_count, 2);
  CHECK(next.segments[1].stream == 78);
  int32_t tokens[128];
  CHECK(!blis_replay_tokens(replay, tokens, tokens));
  blis_replay_free(replay);
  blis_workload_free(workload);
}

static void wrong_rounds_are_named(void) {
  static const struct {
    const char *rows;
    const char *message;
  } wrong[] = {
      {"0,s,0,,0,3,1,0\n1,s,2,,0,3,1,1\n", "session 's': round 1 is missing"},
      {"0,s,1,,0,3,1,0\n", "session 's': round 0 is missing"},
      {"0,s,0,,0,3,1,0\n1,s,0,,0,3,1,1\n", "round 0 is given twice"},
      {"0,s,-1,,0,3,1,0\n1,s,0,,0,3,1,1\n", "round -1 is below 0"},
  };
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  for (size_t i = 0; i < COUNT(wrong); i++) {
    char csv[256];
    snprintf(csv, sizeof csv, HEAD "\n%s", wrong[i].rows);
    blis_workload *workload = trace_of(&alloc, "", csv);
    const blis_replay_options options = {.sessions_wait = true};
    blis_replay *replay;
    CHECK_STATUS(blis_replay_new(&alloc, workload, &options, &replay, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, wrong[i].message);
    blis_workload_free(workload);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

static void no_memory_is_an_error(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_workload *workload = must_read(&heap, "tests/data/tracev2/cct.csv");
  blis_status status = BLIS_ERR_NOMEM;
  for (long i = 1; status != BLIS_OK; i++) {
    blis_alloc_probe memory = {.fail_at = i};
    blis_alloc alloc = blis_alloc_probed(&memory);
    const blis_replay_options options = {.sessions_wait = true, .seed = 1, .keep_tokens = true};
    blis_replay *replay;
    status = blis_replay_new(&alloc, workload, &options, &replay, &error);
    if (status == BLIS_OK) {
      blis_replay_free(replay);
    } else {
      CHECK_STATUS(status, BLIS_ERR_NOMEM);
    }
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  blis_workload_free(workload);
}

int main(void) {
  RUN(tokens_are_as_recorded);
  RUN(rounds_follow_answers);
  RUN(prompts_grow);
  RUN(think_times_have_an_order);
  RUN(known_content_stays);
  RUN(wrong_rounds_are_named);
  RUN(no_memory_is_an_error);
  return check_done();
}
