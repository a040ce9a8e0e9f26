/*
 * Workloads that are made at once - sessions, users, rates that vary, kept
 * tokens - against values recorded from BLIS (Go, inference-sim f90a1e3a) and
 * against the same requests drawn one by one.
 */
#include "base/random.h"
#include "generator_fixture.h"
#include "workload/go_blis.h"

static blis_error error;

/*
 * Checks all requests and, when there are lines with follow-ups, the first ones
 * of the first session, each request ending 100 ms after its arrival.
 */
static void check_recorded(blis_workload_spec spec, const char *const *lines, size_t line_count,
                           int64_t count, const char *const *follow_ups, size_t follow_up_count) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  spec.keep_tokens = true;
  blis_generator *generator = must_generate(&alloc, &spec);
  blis_request_source source = blis_generator_source(generator);
  CHECK_EQ_I64(source.count, count);
  char line[LINE_SIZE];
  blis_request request;
  blis_request first = {0};
  size_t found = 0;
  int64_t taken = 0;
  for (; next_line(generator, true, line, &request); taken++) {
    first = taken == 0 ? request : first;
    size_t id_length = strcspn(line, " ") + 1;
    if (found < line_count && strncmp(line, lines[found], id_length) == 0) {
      CHECK_STR(line, lines[found]);
      found++;
    }
  }
  CHECK_EQ_I64(taken, count);
  CHECK_EQ_I64(found, line_count);
  CHECK((source.ended != NULL) == (follow_up_count > 0));
  request = first;
  for (size_t i = 0; i < follow_up_count; i++) {
    blis_request_outcome outcome = {.end_us = request.arrival_us + 100000,
                                    .produced_tokens = (int64_t)request.output_tokens - 1,
                                    .is_completed = true};
    blis_request follow_up;
    bool has_follow_up;
    CHECK_OK(source.ended(source.state, &request, &outcome, &follow_up, &has_follow_up, &error),
             &error);
    CHECK(has_follow_up);
    last_line(generator, source.strings, &follow_up, false, line);
    CHECK_STR(line, follow_ups[i]);
    request = follow_up;
  }
  blis_generator_free(generator);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static const blis_multi_turn_spec three_turns = {
    .max_rounds = 3, .think_time_us = 1000000, .context_growth = "accumulate"};

static const blis_client_spec chat = {.id = "chat",
                                      .tenant = "ten",
                                      .slo_class = "critical",
                                      .rate_fraction = 1,
                                      .is_streaming = true,
                                      .prefix_group = "sys",
                                      .prefix_tokens = 40,
                                      .arrival = {.process = "poisson"},
                                      .input = CONSTANT(30),
                                      .output = CONSTANT(10),
                                      .reason_ratio = CONSTANT(50),
                                      .multi_turn = &three_turns};

static void conversations_are_as_recorded(void) {
  blis_workload_spec spec = {.seed = 5,
                             .category = "reasoning",
                             .aggregate_rate = 1,
                             .num_requests = 12,
                             .clients = &chat,
                             .client_count = 1};
  static const char *const lines[] = {"request_0 chat sess_3732988374295573383 51115 300051115 "
                                      "70:bad825811df4e63a 10:ff67fd467f5cde37",
                                      "request_1 chat sess_833118233388112889 831625 300831625 "
                                      "70:4c3ee46a7cc2af64 10:f9bcb22508c4762d",
                                      "request_2 chat sess_3972514521863111287 2103353 302103353 "
                                      "70:bafb989fdd4212e0 10:9350e3f65ec71ac2",
                                      "request_3 chat sess_456913029876007961 3251616 303251616 "
                                      "70:c33abf61b5a31ba4 10:4b677c0f6a38b6a5",
                                      "request_4 chat sess_2343888203367174257 4924840 304924840 "
                                      "70:616dfb8dbd73b2cd 10:289721c4ae963d62"};
  static const char *const follow_ups[] = {
      "session_sess_3732988374295573383_round_1_1 chat 1151115 301151115 "
      "109:eca0bcb02dce998f 10:b26f085ad13dff76",
      "session_sess_3732988374295573383_round_2_2 chat 2251115 302251115 "
      "148:021f94b3a88fde7f 10:5ebca322024cbd25"};
  check_recorded(spec, lines, COUNT(lines), 5, follow_ups, COUNT(follow_ups));
  spec.rules = &blis_workload_go_blis;
  check_recorded(spec, lines, COUNT(lines), 5, follow_ups, COUNT(follow_ups));
}

static void users_are_as_recorded(void) {
  blis_client_spec client = {.id = "u",
                             .concurrency = 3,
                             .think_time_us = 90000,
                             .prefix_group = "g",
                             .input = CONSTANT(30),
                             .output = CONSTANT(4)};
  blis_workload_spec spec = {.seed = 5, .num_requests = 7, .clients = &client, .client_count = 1};
  static const char *const lines[] = {
      "request_0 u concurrency_u_user_0 0 300000000 80:d014fee5fb7e7d96 "
      "4:e5d57f90b648bff0",
      "request_1 u concurrency_u_user_1 30000 300030000 80:7b1625ed77042ba4 "
      "4:8d434e057ab35eaf",
      "request_2 u concurrency_u_user_2 60000 300060000 80:570cb2ee88e438b5 "
      "4:f339dfc620c8f702"};
  static const char *const follow_ups[] = {
      "session_concurrency_u_user_0_round_1_1 u 190000 300190000 "
      "80:ca7bf2980a1d16a7 4:3c6f711d1b0d3803",
      "session_concurrency_u_user_0_round_2_2 u 380000 300380000 "
      "80:ad50e349033fcfcc 4:85344333c3ea795f"};
  check_recorded(spec, lines, COUNT(lines), 3, follow_ups, COUNT(follow_ups));
}

static void rates_that_vary_are_as_recorded(void) {
  static const blis_window_spec windows[] = {
      {.start_us = 0, .end_us = 2000000, .trace_rate = 3, .has_trace_rate = true},
      {.start_us = 1000000, .end_us = 3000000}};
  blis_client_spec clients[] = {{.id = "a",
                                 .slo_class = "standard",
                                 .rate_fraction = 1,
                                 .prefix_group = "g",
                                 .prefix_tokens = 64,
                                 .timeout_us = 5000000,
                                 .arrival = {.process = "poisson"},
                                 .input = CONSTANT(30),
                                 .output = CONSTANT(4),
                                 .windows = &windows[0],
                                 .window_count = 1},
                                {.id = "b",
                                 .slo_class = "standard",
                                 .rate_fraction = 1,
                                 .arrival = {.process = "gamma", .cv = 2, .has_cv = true},
                                 .input = CONSTANT(30),
                                 .output = CONSTANT(4),
                                 .windows = &windows[1],
                                 .window_count = 1}};
  blis_workload_spec spec = {.seed = 5,
                             .aggregate_rate = 10,
                             .horizon_us = 4000000,
                             .rules = &blis_workload_go_blis,
                             .clients = clients,
                             .client_count = COUNT(clients)};
  static const char *const lines[] = {
      "request_0 a - 87864 0 30:ea59fd2903270e72 4:9d97a5574fdc19dc",
      "request_1 a - 114826 0 30:b5e3013d347fe58c 4:206f0875be9db386",
      "request_2 a - 167150 0 30:87db8b41e13cab4a 4:1904e4b23df348d6",
      "request_3 a - 338476 0 30:6c58993cb1ec77cd 4:08f1d36f04084ced",
      "request_4 a - 382997 0 30:31e5fe0a55cac426 4:1a08050cf777aada",
      "request_17 b - 2747733 0 30:c7ca486f044607e5 4:37fd6029a4a8f827"};
  check_recorded(spec, lines, COUNT(lines), 18, NULL, 0);
}

/* The last request of a window comes too, with prefix and deadline. */
static void rates_that_vary_lose_nothing(void) {
  static const blis_window_spec windows[] = {
      {.start_us = 100, .end_us = 2000100, .trace_rate = 5, .has_trace_rate = true},
      {.start_us = 1000000, .end_us = 1000001, .trace_rate = 1, .has_trace_rate = true}};
  blis_client_spec clients[] = {{.id = "a",
                                 .rate_fraction = 1,
                                 .prefix_group = "g",
                                 .prefix_tokens = 64,
                                 .timeout_us = 5000000,
                                 .arrival = {.process = "constant"},
                                 .input = CONSTANT(30),
                                 .output = CONSTANT(4),
                                 .windows = windows,
                                 .window_count = COUNT(windows)}};
  blis_workload_spec spec = {.clients = clients, .client_count = 1};
  blis_alloc alloc = blis_alloc_heap();
  blis_generator *generator = must_generate(&alloc, &spec);
  blis_request_source source = blis_generator_source(generator);
  CHECK_EQ_I64(source.count, 11);
  blis_request request;
  bool done;
  for (int64_t i = 0; i < 11; i++) {
    CHECK_OK(source.next(source.state, &request, &done, &error), &error);
    CHECK(!done);
    /* Gaps of 1 / rate are a little below 200 ms. */
    int64_t step = i < 5 ? i + 1 : i;
    int64_t expected = i == 4    ? 1000000 /* of the second window */
                       : i == 10 ? 2000099
                                 : 100 + 199999 * step;
    CHECK_EQ_I64(request.arrival_us, expected);
    CHECK_EQ_I64(request.prompt_tokens, 94);
    CHECK_EQ_I64(request.deadline_us, request.arrival_us + 5000000);
  }
  blis_generator_free(generator);
}

/* The sampler of inference-perf: exactly so many requests, over a time. */
static void spread_requests_are_as_recorded(void) {
  const blis_distribution_spec ten = CONSTANT(10);
  const blis_distribution_spec five = CONSTANT(5);
  blis_client_spec clients[4];
  static const char *const ids[] = {"prompt-0-user-0", "prompt-0-user-1", "prompt-1-user-0",
                                    "prompt-1-user-1"};
  for (size_t i = 0; i < 4; i++) {
    clients[i] = (blis_client_spec){.id = ids[i],
                                    .tenant = i < 2 ? "prompt-0" : "prompt-1",
                                    .slo_class = "standard",
                                    .rate_fraction = 0.25,
                                    .arrival = {.process = "poisson"},
                                    .input = ten,
                                    .output = five,
                                    .prefix_group = i < 2 ? "prompt-0" : "prompt-1",
                                    .prefix_tokens = 20,
                                    .spread_count = 3,
                                    .spread_us = 3000000};
  }
  blis_workload_spec spec = {
      .seed = 7, .aggregate_rate = 4, .clients = clients, .client_count = COUNT(clients)};
  static const char *const lines[] = {"request_0 prompt-1-user-1 - 329947 0 30:6e428410c0517444 "
                                      "5:5fe550d12a653a63",
                                      "request_1 prompt-0-user-1 - 456633 0 30:cf6e792676c78a0e "
                                      "5:1243989233ba339a",
                                      "request_2 prompt-0-user-0 - 1161435 0 30:79c3c736ad9fd529 "
                                      "5:67a76ed615d26c8e",
                                      "request_3 prompt-1-user-1 - 1446168 0 30:fa86ed60be541ec9 "
                                      "5:9924ca71b46fd554",
                                      "request_4 prompt-1-user-0 - 1719941 0 30:65dab91090d62a5c "
                                      "5:0d18602509181593",
                                      "request_5 prompt-0-user-1 - 2070504 0 30:dc9757fc6da12d6d "
                                      "5:3d64f0f650f02ae0",
                                      "request_6 prompt-0-user-0 - 2390423 0 30:4de94ab3f4748db4 "
                                      "5:6b6201817d1fa98b",
                                      "request_7 prompt-1-user-0 - 2552267 0 30:5bf3d02889ca1952 "
                                      "5:a191aec83ea42881",
                                      "request_8 prompt-0-user-1 - 2999998 0 30:b722601c4a729980 "
                                      "5:44f1c482ffcbc2fc",
                                      "request_9 prompt-1-user-0 - 2999998 0 30:2cbd49ed759713b4 "
                                      "5:a3411f56013998c2",
                                      "request_10 prompt-0-user-0 - 2999999 0 30:5a0983f95f25b935 "
                                      "5:4a74a84d4dbf44da",
                                      "request_11 prompt-1-user-1 - 2999999 0 30:fe32b8e88d415871 "
                                      "5:31b0db77c5714a6e"};
  check_recorded(spec, lines, COUNT(lines), 12, NULL, 0);
}

int main(void) {
  RUN(conversations_are_as_recorded);
  RUN(users_are_as_recorded);
  RUN(rates_that_vary_are_as_recorded);
  RUN(rates_that_vary_lose_nothing);
  RUN(spread_requests_are_as_recorded);
  return check_done();
}
