/* The short form of a workload as the specification that it stands for. */
#include "workload/spec/short_form.h"

#include <math.h>

#include "check.h"
#include "workload/generate/generator.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static blis_error error;

static void everything_left_out_has_the_flags_defaults(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_arena arena;
  blis_arena_init(&arena, &alloc);
  blis_short_form form = blis_short_form_default();
  form.prompt = form.output = (blis_distribution_spec){0};
  form.arrival = (blis_arrival_spec){0};
  blis_workload_spec spec;
  CHECK_OK(blis_short_form_expand(&form, &arena, &spec, &error), &error);
  CHECK(spec.aggregate_rate == 1 && spec.num_requests == 100);
  CHECK_EQ_I64(spec.client_count, 1);
  const blis_client_spec *client = &spec.clients[0];
  CHECK_STR(client->id, "distribution");
  CHECK_STR(client->arrival.process, "poisson");
  CHECK_STR(client->input.type, "gaussian");
  CHECK_EQ_DOUBLE(client->input.params[3].value, 7000);
  CHECK_EQ_I64(client->timeout_us, 300000000);
  CHECK(client->prefix_group == NULL);
  blis_generator *generator;
  CHECK_OK(blis_generator_new(&alloc, &spec, &generator, &error), &error);
  blis_generator_free(generator);
  blis_arena_deinit(&arena);
}

/* The counts of requests per group, and that each has its prefix. */
static void count_groups(const blis_short_form *form, int64_t *counts) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_arena arena;
  blis_arena_init(&arena, &alloc);
  blis_workload_spec spec;
  CHECK_OK(blis_short_form_expand(form, &arena, &spec, &error), &error);
  blis_generator *generator;
  CHECK_OK(blis_generator_new(&alloc, &spec, &generator, &error), &error);
  blis_arena_deinit(&arena);
  blis_request_source source = blis_generator_source(generator);
  for (;;) {
    blis_request request;
    bool done;
    CHECK_OK(source.next(source.state, &request, &done, &error), &error);
    if (done) {
      break;
    }
    const char *group = blis_intern_text(source.strings, request.prefix_group);
    long k = strtol(group + strlen("prefix_"), NULL, 10);
    CHECK(strncmp(group, "prefix_", 7) == 0 && k < form->prefix_groups);
    CHECK_EQ_I64(request.shared_tokens, form->prefix_tokens);
    CHECK_EQ_I64(request.prompt_tokens, form->prefix_tokens + 16);
    counts[k]++;
  }
  blis_generator_free(generator);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static const blis_distribution_param sixteen[] = {{"value", 16}};

static void groups_arrive_by_weight(void) {
  blis_short_form form = blis_short_form_default();
  form.seed = 7;
  form.rate = 1000;
  form.num_requests = 20000;
  form.prompt = (blis_distribution_spec){"constant", sixteen, COUNT(sixteen)};
  form.output = form.prompt;
  form.prefix_groups = 4;
  form.prefix_tokens = 100;
  int64_t counts[4] = {0};
  count_groups(&form, counts);
  for (int k = 0; k < 4; k++) { /* standard deviation 61 */
    CHECK(counts[k] > 4700 && counts[k] < 5300);
  }
  form.prefix_zipf = 1;
  memset(counts, 0, sizeof counts);
  count_groups(&form, counts);
  for (int k = 0; k < 4; k++) { /* 9600, 4800, 3200, 2400 */
    int64_t expected = 9600 / (k + 1);
    CHECK(counts[k] > expected - 350 && counts[k] < expected + 350);
  }
}

/* Mean and coefficient of variation of the times between requests. */
static void measure_gaps(const blis_short_form *form, double *mean_us, double *variation) {
  blis_alloc alloc = blis_alloc_heap();
  blis_arena arena;
  blis_arena_init(&arena, &alloc);
  blis_workload_spec spec;
  CHECK_OK(blis_short_form_expand(form, &arena, &spec, &error), &error);
  blis_generator *generator;
  CHECK_OK(blis_generator_new(&alloc, &spec, &generator, &error), &error);
  blis_arena_deinit(&arena);
  blis_request_source source = blis_generator_source(generator);
  double sum = 0;
  double squares = 0;
  int64_t before_us = 0;
  for (int64_t i = 0; i < form->num_requests; i++) {
    blis_request request;
    bool done;
    CHECK_OK(source.next(source.state, &request, &done, &error), &error);
    CHECK(!done);
    double gap_us = (double)(request.arrival_us - before_us);
    before_us = request.arrival_us;
    sum += gap_us;
    squares += gap_us * gap_us;
  }
  blis_generator_free(generator);
  double count = (double)form->num_requests;
  *mean_us = sum / count;
  *variation = sqrt(squares / count - *mean_us * *mean_us) / *mean_us;
}

/* Whatever the process and into however many groups its requests are split. */
static void groups_leave_the_arrivals_as_they_are(void) {
  static const struct {
    blis_arrival_spec arrival;
    double variation;
  } processes[] = {
      {{.process = "poisson"}, 1},
      {{.process = "constant"}, 0},
      {{.process = "gamma", .cv = 3, .has_cv = true}, 3},
      {{.process = "gamma", .cv = 0.5, .has_cv = true}, 0.5},
      {{.process = "weibull", .cv = 0.3, .has_cv = true}, 0.3},
      {{.process = "weibull", .cv = 2, .has_cv = true}, 2},
  };
  static const int64_t groups[] = {0, 1, 2, 10, 100};
  for (size_t i = 0; i < COUNT(processes); i++) {
    for (size_t j = 0; j < CASES(COUNT(groups) * 4); j++) {
      blis_short_form form = blis_short_form_default();
      form.seed = 11;
      form.rate = 200;
      form.num_requests = 20000;
      form.arrival = processes[i].arrival;
      form.prompt = form.output = (blis_distribution_spec){"constant", sixteen, COUNT(sixteen)};
      form.prefix_groups = groups[j / 4];
      form.prefix_tokens = 10;
      form.prefix_zipf = 1.1;
      form.lazy_tokens = j % 2 == 1;
      form.max_rounds = j % 4 >= 2 ? 1 : 0; /* drawn as sessions */
      double mean_us;
      double variation;
      measure_gaps(&form, &mean_us, &variation);
      CHECK(fabs(mean_us - 5000) < 5000 * 0.07);
      CHECK(fabs(variation - processes[i].variation) < 0.001 + 0.1 * processes[i].variation);
    }
  }
}

static void sessions_are_those_of_a_specification(void) {
  blis_alloc alloc = blis_alloc_heap();
  for (int i = 0; i < 4; i++) {
    bool grows = i % 2 == 1;
    bool is_open = i >= 2;
    blis_arena arena;
    blis_arena_init(&arena, &alloc);
    blis_short_form form = blis_short_form_default();
    form.max_rounds = 3;
    form.think_time_us = 70;
    form.rounds_grow = grows;
    form.is_open_loop = is_open;
    form.timeout_us = 900;
    form.prefix_groups = 2;
    form.prefix_tokens = 5;
    blis_workload_spec spec;
    CHECK_OK(blis_short_form_expand(&form, &arena, &spec, &error), &error);
    CHECK_EQ_I64(spec.client_count, 2);
    for (size_t k = 0; k < 2; k++) {
      const blis_client_spec *client = &spec.clients[k];
      const char *growth = client->multi_turn->context_growth;
      CHECK_EQ_I64(client->multi_turn->max_rounds, 3);
      CHECK_EQ_I64(client->multi_turn->think_time_us, 70);
      CHECK_STR(growth != NULL ? growth : "", grows ? "accumulate" : "");
      CHECK(blis_client_is_closed_loop(client) == !is_open);
      CHECK_EQ_I64(client->timeout_us, 900);
    }
    blis_arena_deinit(&arena);
  }
}

static void wrong_prefixes_are_named(void) {
  static const struct {
    int64_t groups;
    int64_t tokens;
    double zipf;
    const char *message;
  } cases[] = {
      {-1, 10, 0, "prefixes.groups is -1; expected an integer from 0 to 100000"},
      {200000, 10, 0, "prefixes.groups is 200000"},
      {2, 0, 0, "prefixes.tokens is 0; expected an integer from 1"},
      {2, 10, -1, "prefixes.zipf is -1; expected a number from 0 to 100"},
  };
  blis_alloc alloc = blis_alloc_heap();
  blis_arena arena;
  blis_arena_init(&arena, &alloc);
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_short_form form = blis_short_form_default();
    form.prefix_groups = cases[i].groups;
    form.prefix_tokens = cases[i].tokens;
    form.prefix_zipf = cases[i].zipf;
    blis_workload_spec spec;
    CHECK_STATUS(blis_short_form_expand(&form, &arena, &spec, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].message);
  }
  blis_arena_deinit(&arena);
}

int main(void) {
  RUN(everything_left_out_has_the_flags_defaults);
  RUN(groups_arrive_by_weight);
  RUN(groups_leave_the_arrivals_as_they_are);
  RUN(sessions_are_those_of_a_specification);
  RUN(wrong_prefixes_are_named);
  return check_done();
}
