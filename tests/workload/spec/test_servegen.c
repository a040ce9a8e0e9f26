/*
 * ServeGen data as cohorts, worked out by hand from tests/data/servegen: who is
 * active when, rates, fits, and what is said about data that is wrong.
 */
#include <math.h>

#include "base/random.h"
#include "generator_fixture.h"
#include "temp_file.h"
#include "workload/go_blis.h"
#include "workload/spec/written_spec.h"

static blis_error error;

static blis_written_spec *must_read(const blis_alloc *alloc, const char *path,
                                    const blis_spec_settings *settings) {
  blis_written_spec *written;
  CHECK_OK(blis_written_spec_read(alloc, path, settings, &written, &error), &error);
  return written;
}

static double param(const blis_distribution_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->param_count; i++) {
    if (strcmp(spec->params[i].name, name) == 0) {
      return spec->params[i].value;
    }
  }
  return NAN;
}

static void check_near(double value, double expected) {
  if (!(fabs(value - expected) < 1e-9)) {
    printf("expected %.17g, got %.17g\n", expected, value);
  }
  CHECK(fabs(value - expected) < 1e-9);
}

static void check_lognormal(const blis_distribution_spec *spec, double mu, double sigma) {
  CHECK_STR(spec->type, "lognormal");
  check_near(param(spec, "mu"), mu);
  CHECK(fabs(param(spec, "sigma") - sigma) < 1e-6);
}

/* Without data. */
static void check_usual(const blis_distribution_spec *spec, double mean, double std_dev) {
  CHECK_STR(spec->type, "gaussian");
  check_near(param(spec, "mean"), mean);
  check_near(param(spec, "std_dev"), std_dev);
  check_near(param(spec, "min"), 1);
  check_near(param(spec, "max"), 32768);
}

/* Which chunk a cohort of one member is; all three differ in burstiness. */
static int chunk_of(const blis_cohort_spec *cohort) {
  const blis_arrival_spec *arrival = &cohort->client.arrival;
  if (strcmp(arrival->process, "weibull") == 0) {
    check_near(arrival->cv, 0.5);
    check_near(arrival->shape, 2);
    check_near(arrival->scale, 0.5e6);
    return 1;
  }
  CHECK_STR(arrival->process, "gamma");
  check_near(arrival->scale, 4e6);
  check_near(arrival->shape, arrival->cv == 2 ? 0.25 : 1);
  return arrival->cv == 2 ? 0 : 2;
}

static void check_midnight(const blis_cohort_spec *cohort, int chunk) {
  static const double rates[] = {0.625, 1.5, 0.25};
  check_near(cohort->spike->trace_rate, rates[chunk]);
  const blis_client_spec *client = &cohort->client;
  if (chunk == 0) { /* two days */
    check_lognormal(&client->input, log(200), log(2) / 2);
    check_lognormal(&client->output, (log(20) + log(10)) / 2, 0);
  } else if (chunk == 1) { /* a length of 0 does not count */
    check_usual(&client->input, 512, 128);
    check_lognormal(&client->output, log(30), 0);
  } else {
    check_lognormal(&client->input, log(200), log(2));
    check_lognormal(&client->output, log(20), 0);
  }
}

/* Chunks of a period in the order in which they are dealt. */
static void deal(blis_random *random, uint32_t *chunks, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    chunks[i] = i;
  }
  blis_random_shuffle(random, chunks, count, sizeof *chunks);
}

static void check_cohort(const blis_cohort_spec *cohort, const char *id, const char *slo_class,
                         int64_t start_us) {
  CHECK_STR(cohort->client.id, id);
  CHECK_STR(cohort->client.slo_class, slo_class);
  CHECK_EQ_I64(cohort->population, 1);
  CHECK(cohort->client.is_streaming && cohort->client.rate_fraction == 1);
  CHECK(cohort->spike->has_trace_rate);
  CHECK_EQ_I64(cohort->spike->start_us, start_us);
}

static void language_becomes_cohorts_of_three_periods(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_written_spec *written = must_read(&alloc, "tests/data/servegen/language.yaml", NULL);
  const blis_workload_spec *spec = blis_written_spec_get(written);
  CHECK_EQ_I64(spec->cohort_count, 6);
  CHECK(spec->aggregate_rate == 0);
  CHECK_EQ_I64(blis_written_spec_note_count(written), 1);
  CHECK_CONTAINS(blis_written_spec_note(written, 0), "chunk-2-trace.csv: 1 rows were skipped");
  blis_random random;
  blis_random_init(&random, 42);
  for (int i = 0; i < 3; i++) {
    (void)blis_random_intn(&random, 3);
  }
  uint32_t dealt[3];
  deal(&random, dealt, 3); /* to critical, standard, batch */
  const blis_cohort_spec *c = spec->cohorts;
  check_cohort(&c[0], "midnight-batch", "batch", 0);
  check_cohort(&c[1], "midnight-critical", "critical", 0);
  check_cohort(&c[2], "midnight-standard", "standard", 0);
  const uint32_t expected[] = {dealt[2], dealt[0], dealt[1]};
  for (int i = 0; i < 3; i++) {
    int chunk = chunk_of(&c[i]);
    CHECK_EQ_I64(chunk, expected[i]);
    check_midnight(&c[i], chunk);
    CHECK_EQ_I64(c[i].spike->duration_us, 600000000);
  }
  deal(&random, dealt, 2);
  check_cohort(&c[3], "morning-critical", "critical", 780000000);
  check_cohort(&c[4], "morning-standard", "standard", 780000000);
  CHECK_EQ_I64(chunk_of(&c[3]), dealt[0]);
  CHECK_EQ_I64(chunk_of(&c[4]), dealt[1]);
  check_cohort(&c[5], "afternoon-critical", "critical", 1560000000);
  CHECK_EQ_I64(chunk_of(&c[5]), 0);
  check_lognormal(&c[5].client.input, log(50), 0);
  check_usual(&c[5].client.output, 128, 32);
  blis_generator *generator = must_generate(&alloc, spec);
  blis_written_spec_free(written);
  blis_generator_free(generator);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void check_reasoning(bool is_compatible, const char *percent) {
  blis_alloc alloc = blis_alloc_heap();
  const blis_spec_settings settings = {.rules = is_compatible ? &blis_workload_go_blis : NULL};
  blis_written_spec *written = must_read(&alloc, "tests/data/servegen/reasoning.yaml", &settings);
  const blis_workload_spec *spec = blis_written_spec_get(written);
  CHECK_STR(spec->category, "reasoning");
  CHECK_EQ_I64(spec->cohort_count, 2);
  CHECK_CONTAINS(blis_written_spec_note(written, 0), "chunk-2 was skipped");
  double rates = 0;
  for (int i = 0; i < 2; i++) {
    const blis_cohort_spec *cohort = &spec->cohorts[i];
    check_cohort(cohort, i == 0 ? "reasoning-critical" : "reasoning-standard",
                 i == 0 ? "critical" : "standard", 0);
    CHECK_STR(cohort->client.arrival.process, "poisson");
    CHECK_EQ_I64(cohort->client.multi_turn->max_rounds, 1);
    CHECK(cohort->client.loop == BLIS_LOOP_OPEN);
    CHECK_EQ_I64(cohort->spike->duration_us, 60000000);
    check_lognormal(&cohort->client.input, log(64), 0);
    double mu = 0.25 * log(128) + 0.75 * log(512);
    check_lognormal(&cohort->client.output, mu, log(4) * sqrt(0.25 * 0.75));
    const blis_distribution_spec *ratio = &cohort->client.reason_ratio;
    CHECK_STR(ratio->type, "empirical");
    bool is_chunk_0 = cohort->spike->trace_rate < 0.5;
    check_near(param(ratio, percent), is_chunk_0 ? 0.5 : 1);
    CHECK_EQ_I64(ratio->param_count, is_chunk_0 ? 2 : 1);
    rates += cohort->spike->trace_rate;
  }
  check_near(rates, 1);
  blis_generator *generator = must_generate(&alloc, spec);
  blis_generator_free(generator);
  blis_written_spec_free(written);
}

static void reasoning_becomes_cohorts_of_the_busiest_window(void) {
  check_reasoning(false, "29");
  check_reasoning(true, "28");
}

/* Seven chunks: two each for the first two classes. */

enum { CHUNKS = 7 };

static void write_chunks(void) {
  for (int i = 0; i < CHUNKS; i++) {
    const char *process = i % 2 == 0 ? "1,Gamma" : "3,Weibull";
    char name[40];
    char rows[128];
    snprintf(name, sizeof name, "chunk-%d-trace.csv", i);
    snprintf(rows, sizeof rows, "0,1,%s,1,1\n600,2,%s,1,1\n1200,4,%s,1,1\n", process, process,
             process);
    temp_file(name, rows);
    snprintf(name, sizeof name, "chunk-%d-dataset.json", i);
    temp_file(name, "{\"0\": {\"input_tokens\": \"{9: 1}\", "
                    "\"output_tokens\": \"{9: 1}\"}}");
  }
}

/* Means of cv are 1 or 3 for chunks of a kind, and 2 for one of each. */
static void check_process(const blis_cohort_spec *cohort) {
  const blis_arrival_spec *arrival = &cohort->client.arrival;
  CHECK_STR(arrival->process, arrival->cv == 3 ? "weibull" : "gamma");
  CHECK(arrival->cv == 1 || arrival->cv == 3 || (arrival->cv == 2 && cohort->population == 2));
}

static void chunks_are_dealt_in_turn(void) {
  static const int64_t populations[] = {1, 1, 2, 1, 2};
  static const char *const ids[] = {"midnight-background", "midnight-batch", "midnight-critical",
                                    "midnight-sheddable", "midnight-standard"};
  static const double rates[] = {1, 2, 4};
  blis_alloc alloc = blis_alloc_heap();
  write_chunks();
  const char *path = temp_file("spec.yaml", "servegen_data: {path: .}\nnum_requests: 1\n");
  for (int seed = 1; seed <= 12; seed++) {
    const blis_spec_settings settings = {.seed = seed};
    blis_written_spec *written = must_read(&alloc, path, &settings);
    const blis_workload_spec *spec = blis_written_spec_get(written);
    blis_random random;
    blis_random_init(&random, seed);
    double rate = rates[blis_random_intn(&random, 3)]; /* of the window */
    CHECK_EQ_I64(spec->cohort_count, 5);
    for (int i = 0; i < 5; i++) {
      const blis_cohort_spec *cohort = &spec->cohorts[i];
      CHECK_STR(cohort->client.id, ids[i]);
      CHECK_EQ_I64(cohort->population, populations[i]);
      check_near(cohort->spike->trace_rate, rate * (double)populations[i]);
      check_process(cohort);
    }
    blis_written_spec_free(written);
  }
}

static void unread_members_are_told(void) {
  blis_alloc alloc = blis_alloc_heap();
  write_chunks();
  temp_file("chunk-3-dataset.json",
            "{\"0\": {\"input_tokens\": \"{9: 1}\", \"output_tokens\": \"{9: "
            "1}\", \"answer_tokens\": \"{}\"}}");
  const char *path = temp_file("spec.yaml", "servegen_data: {path: .}\nnum_requests: 1\n");
  blis_written_spec *written = must_read(&alloc, path, NULL);
  CHECK_EQ_I64(blis_written_spec_note_count(written), 1);
  CHECK_CONTAINS(blis_written_spec_note(written, 0),
                 "members of datasets are not read: 'answer_tokens'");
  blis_written_spec_free(written);
}

/* Wrong data. */

typedef struct wrong_data {
  const char *trace;
  const char *dataset; /* NULL = none */
  const char *message;
} wrong_data;

#define ROW "0,1,1,Gamma,1,1\n"
#define DATA(input) "{\"0\": {\"input_tokens\": \"" input "\", \"output_tokens\": \"{}\"}}"

static const wrong_data wrong[] = {
    {ROW, NULL, "chunk-1-dataset.json"},
    {ROW, "[1]", "chunk-1-dataset.json"},
    {ROW, "{\"x\": {}}", "has a key that is not a time in seconds"},
    {ROW, "{\"0\": 5}", "chunk-1-dataset.json"},
    {ROW, "{\"0\": {\"text_tokens\": \"{}\"}}", "is multimodal"},
    {ROW, DATA("100: 1"), "is not a table such as {100: 0.5, 200: 0.5}"},
    {ROW, DATA("{100}"), "is not a table of numbers"},
    {ROW, DATA("{100: -1}"), "is not a table of numbers"},
    {ROW, DATA("{100: inf}"), "is not a table of numbers"},
    {ROW "1,2\n", DATA("{}"), "chunk-1-trace.csv:2"},
    {"0,0,0,,0,0\n", DATA("{}"), "none of 1 chunks is active"},
    {"", DATA("{}"), "none of 1 chunks is active"},
};

static void wrong_data_is_named(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  const char *spec = temp_file("spec.yaml", "servegen_data: {path: .}\nnum_requests: 1\n");
  blis_written_spec *written;
  CHECK_STATUS(blis_written_spec_read(&alloc, spec, NULL, &written, &error), BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "contains no file chunk-<id>-trace.csv");
  for (size_t i = 0; i < COUNT(wrong); i++) {
    temp_file("chunk-1-trace.csv", wrong[i].trace);
    if (wrong[i].dataset != NULL) {
      temp_file("chunk-1-dataset.json", wrong[i].dataset);
    }
    CHECK(blis_written_spec_read(&alloc, spec, NULL, &written, &error) != BLIS_OK);
    CHECK_CONTAINS(error.message, wrong[i].message);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

static void no_memory_is_an_error(void) {
  blis_status status = BLIS_ERR_NOMEM;
  for (long i = 1; status != BLIS_OK; i++) {
    blis_alloc_probe memory = {.fail_at = i};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_written_spec *written;
    status =
        blis_written_spec_read(&alloc, "tests/data/servegen/language.yaml", NULL, &written, &error);
    if (status == BLIS_OK) {
      blis_written_spec_free(written);
    } else {
      CHECK_STATUS(status, BLIS_ERR_NOMEM);
    }
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(language_becomes_cohorts_of_three_periods);
  RUN(reasoning_becomes_cohorts_of_the_busiest_window);
  RUN(wrong_data_is_named);
  RUN(chunks_are_dealt_in_turn);
  RUN(unread_members_are_told);
  RUN(no_memory_is_an_error);
  return check_done();
}
