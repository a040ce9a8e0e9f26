/*
 * Generated requests against values recorded from BLIS (Go, inference-sim
 * f90a1e3a) and against a plain version that makes all requests, sorts them and
 * cuts the list.
 */
#include "base/random.h"
#include "generator_fixture.h"

enum { OOM_ATTEMPTS = 1000 };

static blis_error error;
static int32_t prompt[MAX_TOKENS];
static int32_t output[MAX_TOKENS];

/* Lines may leave out requests; the rest must be there in their order. */
static void check_recorded(const blis_workload_spec *spec, const char *const *lines,
                           size_t line_count) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_generator *generator;
  CHECK_OK(blis_generator_new(&alloc, spec, &generator, &error), &error);
  CHECK_EQ_I64(blis_generator_source(generator).count, spec->num_requests);
  char line[LINE_SIZE];
  blis_request request;
  size_t found = 0;
  int64_t count = 0;
  for (; next_line(generator, false, line, &request); count++) {
    size_t id_length = strcspn(line, " ") + 1;
    if (found < line_count && strncmp(line, lines[found], id_length) == 0) {
      CHECK_STR(line, lines[found]);
      found++;
    }
  }
  CHECK_EQ_I64(count, spec->num_requests);
  CHECK_EQ_I64(found, line_count);
  blis_generator_free(generator);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static const blis_distribution_param lognormal[] = {{"mu", 4}, {"sigma", 1}};
static const blis_distribution_param clipped_lognormal[] = {
    {"mu", 4}, {"sigma", 1}, {"min", 5}, {"max", 500}};
static const blis_distribution_param pareto[] = {
    {"alpha", 2}, {"xm", 10}, {"mu", 3}, {"sigma", 0.5}, {"mix_weight", 0.3}};
static const blis_distribution_param clipped[] = {{"mean", 30}, {"min", 2}, {"max", 90}};
static const blis_distribution_param two_bins[] = {{"3", 1}, {"5", 3}};
static const blis_distribution_param three_bins[] = {{"3", 1}, {"5", 3}, {"9", 0}};

static const struct {
  const char *name;
  blis_workload_spec spec;
  blis_client_spec clients[2];
  const char *lines[8];
} recorded[] = {
    {"constant arrivals behind a prefix",
     {.seed = 42, .aggregate_rate = 2, .num_requests = 4},
     {{.id = "distribution",
       .rate_fraction = 1,
       .timeout_us = 300000000,
       .prefix_group = "shared",
       .prefix_tokens = 32,
       .arrival = {.process = "constant"},
       .input = GAUSSIAN(20, 5, 2, 40),
       .output = GAUSSIAN(4, 2, 1, 8)}},
     {"request_0 distribution 500000 300500000 "
      "53:8e2eb99c0d25a737 1:63b372b40ea77316",
      "request_1 distribution 1000000 301000000 "
      "60:d73579b47be36dfd 1:31a9fb45cff542e0",
      "request_2 distribution 1500000 301500000 "
      "50:a05d6deaf58376f5 3:24a5e6486cc863cf",
      "request_3 distribution 2000000 302000000 "
      "54:4fa66be9ae1aca6c 7:8707b29db18d8482"}},
    {"Poisson arrivals",
     {.seed = 11, .aggregate_rate = 40, .num_requests = 5000},
     {{.id = "c0",
       .rate_fraction = 3,
       .slo_class = "standard",
       .tenant = "t0",
       .prefix_group = "g",
       .prefix_tokens = 64,
       .arrival = {.process = "poisson"},
       .input = GAUSSIAN(200, 80, 10, 500),
       .output = GAUSSIAN(60, 30, 1, 200)}},
     {"request_0 c0 36588 0 218:7be46cc4c61cb593 16:808e74964611749b",
      "request_1 c0 37681 0 244:ca9aa238e315baff 19:2017a85d26f82e0b",
      "request_2 c0 51973 0 364:ef7de1dc4e1b1e48 87:a67578e8b985e1db",
      "request_3 c0 64900 0 194:8d29ea585424a309 1:32eb46520477f622",
      "request_4999 c0 123524007 0 430:b483582f87230460 77:68d863ce56adfdd0"}},
    {"gamma arrivals and long tails",
     {.seed = 3, .aggregate_rate = 20, .num_requests = 60},
     {{.id = "a",
       .slo_class = "critical",
       .tenant = "A",
       .rate_fraction = 1,
       .arrival = {.process = "poisson"},
       .input = EXPONENTIAL(100),
       .output = {"exponential", clipped, COUNT(clipped)}},
      {.id = "b",
       .slo_class = "batch",
       .tenant = "B",
       .rate_fraction = 1,
       .arrival = {.process = "gamma", .cv = 3, .has_cv = true},
       .input = {"lognormal", lognormal, COUNT(lognormal)},
       .output = {"pareto_lognormal", pareto, COUNT(pareto)}}},
     {"request_0 b 117179 0 144:e7492ea9ce9d32f8 7:9182a0080301f1c5",
      "request_1 a 119156 0 8:ca47b98c17d3e200 23:a00a0990740f9155",
      "request_2 a 119539 0 358:0f2144fd6d112edc 50:86a114c9491651b3",
      "request_3 b 154955 0 21:2740b32951f08fe8 33:57421577f1ab51be",
      "request_4 a 161830 0 198:fe3156925311e090 2:85c5759eeddd287b",
      "request_59 b 1869650 0 30:c13abcdad33e8e49 20:60d3d2c6f94c762f"}},
    {"Weibull arrivals and bins",
     {.seed = 9, .aggregate_rate = 10, .num_requests = 8},
     {{.id = "w",
       .rate_fraction = 2,
       .arrival = {.process = "weibull", .cv = 2, .has_cv = true},
       .input = {"lognormal", clipped_lognormal, COUNT(clipped_lognormal)},
       .output = {"empirical", three_bins, COUNT(three_bins)}},
      {.id = "g",
       .rate_fraction = 1,
       .arrival = {.process = "gamma", .cv = 0.5, .has_cv = true},
       .input = EXPONENTIAL(50),
       .output = CONSTANT(7)}},
     {"request_0 w 49766 0 52:3690e68e30be6431 5:edc2d56fc0ac30ac",
      "request_1 w 52653 0 29:93981c383c23a85e 3:407d205233085200",
      "request_2 g 80714 0 187:37e6bd878ef827dc 7:53b6e541a43febc3",
      "request_3 w 191446 0 51:a74cef0d5e1a8c62 5:cb0c5eb56cff57b2",
      "request_4 w 255801 0 36:f236cb8560950bae 5:dcc24362d008b3aa",
      "request_5 w 318386 0 5:4fb41601239f0413 5:61373356dbd106ad",
      "request_6 g 641607 0 18:e10f2065cd8bb121 7:02cba655606e3551",
      "request_7 w 753830 0 12:206cc6facf1416e7 5:49e5cd3772e825c6"}},
    {"a constant of zero is one token",
     {.seed = 3, .aggregate_rate = 2, .num_requests = 3},
     {{.id = "a,\"x",
       .slo_class = "critical",
       .rate_fraction = 1,
       .arrival = {.process = "constant"},
       .input = CONSTANT(0),
       .output = {"empirical", two_bins, COUNT(two_bins)}}},
     {"request_0 a,\"x 500000 0 1:5ab7235c9766f509 5:729bbb66f05fa19e",
      "request_1 a,\"x 1000000 0 1:fa67aded4697cb96 5:06fe50b0eee739ca",
      "request_2 a,\"x 1500000 0 1:25971d3027ee073b 5:ede8ad74e656579b"}},
};

static void requests_are_as_recorded(void) {
  for (size_t i = 0; i < COUNT(recorded); i++) {
    printf("# %s\n", recorded[i].name);
    blis_workload_spec spec = recorded[i].spec;
    spec.clients = recorded[i].clients;
    spec.client_count = recorded[i].clients[1].id != NULL ? 2 : 1;
    size_t lines = 0;
    while (lines < COUNT(recorded[i].lines) && recorded[i].lines[lines] != NULL) {
      lines++;
    }
    check_recorded(&spec, recorded[i].lines, lines);
  }
}

/* The plain version. */

enum { MAX_CLIENTS = 5, MAX_REQUESTS = 60 };

typedef struct plain_request {
  int64_t arrival_us;
  uint32_t client;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint64_t prompt_hash;
  uint64_t output_hash;
} plain_request;

typedef struct plain_list {
  plain_request items[MAX_CLIENTS * 2 * MAX_REQUESTS];
  size_t count;
} plain_list;

/* The tokens of every client's prefix, from the stream of the workload. */
static void draw_prefixes(const blis_workload_spec *spec, blis_random *workload,
                          int32_t prefixes[MAX_CLIENTS][64], uint32_t lengths[MAX_CLIENTS]) {
  for (size_t i = 0; i < spec->client_count; i++) {
    const blis_client_spec *client = &spec->clients[i];
    lengths[i] = 0;
    if (client->prefix_group == NULL) {
      continue;
    }
    size_t first = 0;
    while (spec->clients[first].prefix_group == NULL ||
           strcmp(spec->clients[first].prefix_group, client->prefix_group) != 0) {
      first++;
    }
    lengths[i] = first < i                   ? lengths[first]
                 : client->prefix_tokens > 0 ? (uint32_t)client->prefix_tokens
                                             : BLIS_WORKLOAD_DEFAULT_PREFIX_TOKENS;
    if (first < i) {
      memcpy(prefixes[i], prefixes[first], sizeof prefixes[i]);
    }
    for (uint32_t t = 0; first == i && t < lengths[i]; t++) {
      prefixes[i][t] = blis_random_intn(workload, BLIS_GENERATOR_VOCABULARY);
    }
  }
}

static void make_client(const blis_workload_spec *spec, uint32_t index, int64_t seed,
                        const int32_t *prefix, uint32_t prefix_tokens, plain_list *list) {
  const blis_client_spec *client = &spec->clients[index];
  blis_alloc alloc = blis_alloc_heap();
  blis_distribution lengths[2];
  CHECK_OK(blis_distribution_init(&lengths[0], &alloc, &client->input, "", &error), &error);
  CHECK_OK(blis_distribution_init(&lengths[1], &alloc, &client->output, "", &error), &error);
  double fractions = 0;
  for (size_t i = 0; i < spec->client_count; i++) {
    fractions += spec->clients[i].rate_fraction;
  }
  blis_arrival arrival;
  blis_arrival_init(&arrival, &client->arrival,
                    spec->aggregate_rate * client->rate_fraction / fractions / 1e6);
  blis_random random;
  blis_random_init(&random, seed);
  int64_t now_us = 0;
  for (int64_t n = 0; n < 2 * spec->num_requests; n++) {
    now_us += blis_arrival_draw(&arrival, &random);
    if (spec->horizon_us > 0 && now_us >= spec->horizon_us) {
      break;
    }
    int64_t input = blis_distribution_draw(&lengths[0], &random);
    int64_t out = blis_distribution_draw(&lengths[1], &random);
    memcpy(prompt, prefix, prefix_tokens * sizeof *prefix);
    for (int64_t t = 0; t < input; t++) {
      prompt[prefix_tokens + t] = blis_random_intn(&random, BLIS_GENERATOR_VOCABULARY);
    }
    for (int64_t t = 0; t < out; t++) {
      output[t] = blis_random_intn(&random, BLIS_GENERATOR_VOCABULARY);
    }
    uint32_t prompt_tokens = prefix_tokens + (uint32_t)input;
    list->items[list->count++] = (plain_request){now_us,
                                                 index,
                                                 prompt_tokens,
                                                 (uint32_t)out,
                                                 hash_tokens(prompt, prompt_tokens),
                                                 hash_tokens(output, (uint32_t)out)};
  }
  blis_distribution_deinit(&lengths[0], &alloc);
  blis_distribution_deinit(&lengths[1], &alloc);
}

static void make_plain(const blis_workload_spec *spec, plain_list *list) {
  int32_t prefixes[MAX_CLIENTS][64];
  uint32_t lengths[MAX_CLIENTS];
  blis_random workload;
  blis_random_init_named(&workload, spec->seed, "workload-gen");
  draw_prefixes(spec, &workload, prefixes, lengths);
  list->count = 0;
  for (uint32_t i = 0; i < spec->client_count; i++) {
    make_client(spec, i, blis_random_int63(&workload), prefixes[i], lengths[i], list);
  }
  for (size_t i = 1; i < list->count; i++) { /* insertion sort is stable */
    plain_request moved = list->items[i];
    size_t place = i;
    for (; place > 0 && list->items[place - 1].arrival_us > moved.arrival_us; place--) {
      list->items[place] = list->items[place - 1];
    }
    list->items[place] = moved;
  }
  if (list->count > (size_t)spec->num_requests) {
    list->count = (size_t)spec->num_requests;
  }
}

static const blis_distribution_spec some_lengths[] = {GAUSSIAN(30, 20, 1, 90), EXPONENTIAL(20),
                                                      CONSTANT(7), GAUSSIAN(9, 3, 9, 9)};

/* High rates and constant gaps, so that many arrivals are equal. */
static void make_spec(blis_random *random, blis_client_spec *clients, blis_workload_spec *spec) {
  static const char *const groups[] = {NULL, "a", "b"};
  static const char *const ids[] = {"0", "1", "2", "3", "4"};
  static const blis_arrival_spec arrivals[] = {
      {.process = "constant"},
      {.process = "poisson"},
      {.process = "gamma", .cv = 2, .has_cv = true},
      {.process = "weibull", .cv = 0.5, .has_cv = true},
      {.process = "gamma", .shape = 2, .scale = 10, .has_shape = true, .has_scale = true}};
  *spec = (blis_workload_spec){.seed = (int64_t)blis_random_uint64(random),
                               .aggregate_rate = 100 * (1 + blis_random_intn(random, 2000)),
                               .num_requests = 1 + blis_random_intn(random, MAX_REQUESTS),
                               .horizon_us = INT64_C(400) * blis_random_intn(random, 3),
                               .clients = clients,
                               .client_count = 1 + (size_t)blis_random_intn(random, MAX_CLIENTS)};
  for (size_t i = 0; i < spec->client_count; i++) {
    clients[i] =
        (blis_client_spec){.id = ids[i],
                           .rate_fraction = 1 + blis_random_intn(random, 2),
                           .arrival = arrivals[blis_random_intn(random, COUNT(arrivals))],
                           .input = some_lengths[blis_random_intn(random, COUNT(some_lengths))],
                           .output = some_lengths[blis_random_intn(random, COUNT(some_lengths))],
                           .prefix_group = groups[blis_random_intn(random, COUNT(groups))],
                           .prefix_tokens = INT64_C(8) * blis_random_intn(random, 3),
                           .timeout_us = INT64_C(1000) * blis_random_intn(random, 2)};
  }
}

static void check_against_plain(blis_generator *generator, const blis_workload_spec *spec,
                                const plain_list *list) {
  char line[LINE_SIZE];
  blis_request request;
  for (size_t i = 0; i < list->count; i++) {
    const plain_request *expected = &list->items[i];
    CHECK(next_line(generator, false, line, &request));
    char plain[LINE_SIZE];
    int64_t timeout_us = spec->clients[expected->client].timeout_us;
    snprintf(plain, sizeof plain,
             "request_%zu %" PRIu32 " %" PRId64 " %" PRId64 " %" PRIu32 ":%016" PRIx64 " %" PRIu32
             ":%016" PRIx64,
             i, expected->client, expected->arrival_us,
             timeout_us > 0 ? expected->arrival_us + timeout_us : 0, expected->prompt_tokens,
             expected->prompt_hash, expected->output_tokens, expected->output_hash);
    CHECK_STR(line, plain);
    CHECK_EQ_I64(request.max_output_tokens, request.output_tokens);
    CHECK_EQ_I64(request.segment_count, request.shared_tokens > 0);
    CHECK_EQ_I64(request.shared_tokens, request.prefix_tokens);
  }
  CHECK(!next_line(generator, false, line, &request));
  CHECK(!next_line(generator, false, line, &request));
}

static void merging_equals_making_all_and_sorting(void) {
  static plain_list list;
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 1);
  for (int round = 0; round < 300; round++) {
    blis_client_spec clients[MAX_CLIENTS];
    blis_workload_spec spec;
    make_spec(&random, clients, &spec);
    make_plain(&spec, &list);
    blis_generator *generator;
    CHECK_OK(blis_generator_new(&alloc, &spec, &generator, &error), &error);
    check_against_plain(generator, &spec, &list);
    blis_generator_free(generator);
  }
}

static const blis_distribution_spec about_100 = EXPONENTIAL(100);
static const blis_distribution_spec about_10 = EXPONENTIAL(10);

static blis_client_spec good_client(void) {
  return (blis_client_spec){.id = "chat",
                            .rate_fraction = 1,
                            .arrival = {.process = "poisson"},
                            .input = about_100,
                            .output = about_10};
}

static void lazy_tokens_change_no_rate_and_draw_no_ids(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_client_spec client = good_client();
  blis_workload_spec spec = {.seed = 1,
                             .aggregate_rate = 100,
                             .num_requests = 20000,
                             .lazy_tokens = true,
                             .clients = &client,
                             .client_count = 1};
  int64_t arrivals[2] = {0};
  double prompt_sums[2] = {0};
  for (int i = 0; i < 2; i++) { /* other lengths leave the arrivals alone */
    client.output = (blis_distribution_spec)EXPONENTIAL(10 + i);
    blis_generator *generator;
    CHECK_OK(blis_generator_new(&alloc, &spec, &generator, &error), &error);
    blis_request_source source = blis_generator_source(generator);
    for (;;) {
      blis_request request;
      bool done;
      CHECK_OK(source.next(source.state, &request, &done, &error), &error);
      if (done) {
        break;
      }
      arrivals[i] = request.arrival_us;
      prompt_sums[i] += request.prompt_tokens;
    }
    CHECK_STATUS(blis_generator_tokens(generator, prompt, output, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, "lazy tokens");
    blis_generator_free(generator);
  }
  CHECK_EQ_I64(arrivals[0], arrivals[1]);
  /* 200 s and 100 tokens with standard deviations of 1.4 s and 0.7 tokens. */
  CHECK(arrivals[0] > 193000000 && arrivals[0] < 207000000);
  CHECK(prompt_sums[0] / 20000 > 96.5 && prompt_sums[0] / 20000 < 103.5);
}

static void tokens_need_a_request(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_client_spec client = good_client();
  blis_workload_spec spec = {
      .aggregate_rate = 1, .num_requests = 1, .clients = &client, .client_count = 1};
  blis_generator *generator;
  CHECK_OK(blis_generator_new(&alloc, &spec, &generator, &error), &error);
  CHECK_STATUS(blis_generator_tokens(generator, prompt, output, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "none yet");
  blis_generator_free(generator);
}

/* One wrong field each; "message" is part of what is said about it. */
typedef struct bad_client {
  const char *field;
  blis_client_spec second;
  const char *message;
} bad_client;

#define GOOD                                                                                       \
  .id = "chat", .rate_fraction = 1, .arrival = {.process = "poisson"}, .input = EXPONENTIAL(9),    \
  .output = EXPONENTIAL(9)

static const bad_client bad_clients[] = {
    {"rate_fraction",
     {.id = "chat", .rate_fraction = 0},
     "client 2 ('chat'): rate_fraction is 0; expected a number above 0"},
    {"prefix_length", {GOOD, .prefix_tokens = -1}, "client 2 ('chat'): prefix_length is -1"},
    {"timeout", {GOOD, .timeout_us = -5}, "client 2 ('chat'): timeout is -5"},
    {"slo_class",
     {GOOD, .slo_class = "batch"},
     "client 1 ('chat') has no slo_class and client 2 ('chat') has one"},
    {"arrival",
     {.rate_fraction = 1, .arrival = {.process = "poison"}},
     "client 2: arrival: unknown process 'poison'"},
    {"input",
     {.id = "x", .rate_fraction = 1, .arrival = {.process = "poisson"}},
     "client 2 ('x'): input_distribution is missing"},
};

static void check_refused(blis_workload_spec spec, const blis_client_spec *clients,
                          const char *message) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_generator *generator;
  spec.clients = clients;
  CHECK_STATUS(blis_generator_new(&alloc, &spec, &generator, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, message);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void wrong_fields_are_named(void) {
  for (size_t i = 0; i < COUNT(bad_clients); i++) {
    const blis_client_spec clients[] = {good_client(), bad_clients[i].second};
    check_refused((blis_workload_spec){.aggregate_rate = 1, .num_requests = 1, .client_count = 2},
                  clients, bad_clients[i].message);
  }
}

static void wrong_totals_are_named(void) {
  const blis_client_spec client = good_client();
  static const struct {
    blis_workload_spec spec;
    const char *message;
  } cases[] = {
      {{.aggregate_rate = 1, .num_requests = 1}, "the workload has no clients"},
      {{.num_requests = 1, .client_count = 1}, "aggregate_rate is 0"},
      {{.aggregate_rate = 1, .client_count = 1}, "the workload never ends"},
      {{.aggregate_rate = 1, .num_requests = -3, .client_count = 1}, "num_requests is -3"},
      {{.aggregate_rate = 1, .horizon_us = -1, .client_count = 1}, "horizon is -1"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    check_refused(cases[i].spec, &client, cases[i].message);
  }
}

static const blis_workload_spec one_request = {
    .aggregate_rate = 1, .num_requests = 1, .client_count = 1};

static void unknown_classes_have_suggestions(void) {
  blis_client_spec client = good_client();
  client.slo_class = "critcal";
  check_refused(one_request, &client, "did you mean 'critical'?");
}

static void a_length_beyond_all_bounds_is_an_error(void) {
  blis_client_spec client = good_client();
  client.input = (blis_distribution_spec)CONSTANT(1e12);
  check_refused(one_request, &client,
                "client 1 ('chat'): input_distribution gave a length of "
                "1000000000000 tokens");
}

static blis_status generate(const blis_alloc *alloc) {
  static const blis_distribution_param bins[] = {{"3", 1}, {"5", 3}};
  blis_client_spec clients[] = {good_client(), good_client()};
  clients[1].output = (blis_distribution_spec){"empirical", bins, COUNT(bins)};
  clients[1].prefix_group = "g";
  blis_workload_spec spec = {
      .aggregate_rate = 10, .num_requests = 50, .clients = clients, .client_count = COUNT(clients)};
  blis_generator *generator;
  BLIS_TRY(blis_generator_new(alloc, &spec, &generator, &error));
  blis_generator_free(generator);
  return BLIS_OK;
}

static void out_of_memory_is_an_error(void) {
  blis_status status = BLIS_ERR_NOMEM;
  long request = 1;
  for (; status != BLIS_OK; request++) {
    CHECK(request < OOM_ATTEMPTS);
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    status = generate(&alloc);
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(request > 10);
}

int main(void) {
  RUN(requests_are_as_recorded);
  RUN(merging_equals_making_all_and_sorting);
  RUN(lazy_tokens_change_no_rate_and_draw_no_ids);
  RUN(tokens_need_a_request);
  RUN(wrong_fields_are_named);
  RUN(wrong_totals_are_named);
  RUN(unknown_classes_have_suggestions);
  RUN(a_length_beyond_all_bounds_is_an_error);
  RUN(out_of_memory_is_an_error);
  return check_done();
}
