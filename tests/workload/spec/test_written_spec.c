/*
 * Workload specifications from YAML: recorded requests of BLIS (Go,
 * inference-sim f90a1e3a), and what is said about wrong ones. test_spec_keys.c
 * tries every key.
 */
#include "workload/go_blis.h"
#include "workload/spec/written_spec.h"

#include "generator_fixture.h"

enum { YAML_SIZE = 4096, MAX_KEYS = 200 };

static blis_error error;

static blis_status parse(const blis_alloc *alloc, const char *text,
                         const blis_spec_settings *settings, blis_written_spec **written) {
  blis_yaml *yaml;
  BLIS_TRY(blis_yaml_parse(alloc, "spec.yaml", blis_slice_of(text), &yaml, &error));
  blis_status status =
      blis_written_spec_from(alloc, blis_yaml_root(yaml), settings, written, &error);
  blis_yaml_free(yaml);
  return status;
}

/* Recorded requests. */

/* The next line of a file without its end; false behind the last. */
static bool read_line(FILE *file, char line[LINE_SIZE]) {
  if (fgets(line, LINE_SIZE, file) == NULL) {
    return false;
  }
  line[strcspn(line, "\n")] = '\0';
  return true;
}

static void check_follow_ups(blis_generator *generator, FILE *lines, blis_request request,
                             char expected[LINE_SIZE]) {
  blis_request_source source = blis_generator_source(generator);
  do {
    const blis_request_outcome outcome = {.end_us = request.arrival_us + 100000,
                                          .produced_tokens = (int64_t)request.output_tokens - 1,
                                          .is_completed = true};
    blis_request follow_up;
    bool has_follow_up;
    CHECK_OK(source.ended(source.state, &request, &outcome, &follow_up, &has_follow_up, &error),
             &error);
    CHECK(has_follow_up);
    char line[LINE_SIZE];
    last_line(generator, source.strings, &follow_up, true, line);
    CHECK_STR(line, expected);
    request = follow_up;
  } while (read_line(lines, expected));
}

/* The first line of the recorded ones tells how many requests there are. */
static void check_lines(blis_generator *generator, FILE *lines) {
  char expected[LINE_SIZE];
  char line[LINE_SIZE];
  CHECK(read_line(lines, expected));
  int64_t count = strtoll(expected, NULL, 10);
  bool has_expected = read_line(lines, expected);
  blis_request first = {0};
  blis_request request;
  for (int64_t i = 0; i < count; i++) {
    CHECK(next_line(generator, true, line, &request));
    first = i == 0 ? request : first;
    size_t id_length = strcspn(line, " ") + 1;
    if (has_expected && strncmp(line, expected, id_length) == 0) {
      CHECK_STR(line, expected);
      has_expected = read_line(lines, expected);
    }
  }
  CHECK(!next_line(generator, true, line, &request));
  if (has_expected) {
    check_follow_ups(generator, lines, first, expected);
  }
}

static void check_recorded(const char *name, bool reproduces_defects) {
  char path[128];
  const blis_spec_settings settings = {.keep_tokens = true,
                                       .rules = reproduces_defects ? &blis_workload_go_blis : NULL};
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_written_spec *written;
  snprintf(path, sizeof path, "tests/data/workload/%s.yaml", name);
  CHECK_OK(blis_written_spec_read(&alloc, path, &settings, &written, &error), &error);
  blis_generator *generator = must_generate(&alloc, blis_written_spec_get(written));
  blis_written_spec_free(written);
  snprintf(path, sizeof path, "tests/data/workload/%s.txt", name);
  FILE *lines = fopen(path, "r");
  CHECK(lines != NULL);
  check_lines(generator, lines);
  fclose(lines);
  blis_generator_free(generator);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void requests_are_as_recorded(void) {
  static const char *const names[] = {"prefix",  "sessions",       "users",     "long_tails",
                                      "weibull", "inference_perf", "version_1", "many"};
  for (size_t i = 0; i < COUNT(names); i++) {
    check_recorded(names[i], false);
    check_recorded(names[i], true);
  }
  check_recorded("windows", true);
}

/* Wrong values. */

/* A value for a key in a client, or at another place. */
typedef struct wrong_value {
  const char *where; /* of the templates below */
  const char *text;  /* the lines that go there */
  const char *part;  /* of the message */
} wrong_value;

#define FIVE "{type: constant, params: {value: 5}}"

static const char client_template[] =
    "aggregate_rate: 1\n"
    "num_requests: 5\n"
    "clients:\n"
    "  - id: a\n"
    "    input_distribution: {type: constant, params: {value: 30}}\n"
    "    output_distribution: {type: constant, params: {value: 4}}\n";
static const char rate_template[] = "    rate_fraction: 1\n"
                                    "    arrival: {process: poisson}\n";
static const char cohort_template[] =
    "aggregate_rate: 1\n"
    "num_requests: 5\n"
    "cohorts:\n"
    "  - id: a\n"
    "    input_distribution: {type: constant, params: {value: 30}}\n"
    "    output_distribution: {type: constant, params: {value: 4}}\n"
    "    rate_fraction: 1\n"
    "    arrival: {process: poisson}\n";
static const char bare_template[] = "aggregate_rate: 1\n"
                                    "num_requests: 5\n"
                                    "clients:\n"
                                    "  - rate_fraction: 1\n"
                                    "    arrival: {process: poisson}\n";
static const char top_template[] = "clients:\n"
                                   "  - input_distribution: {type: constant, params: {value: 30}}\n"
                                   "    output_distribution: {type: constant, params: {value: 4}}\n"
                                   "    rate_fraction: 1\n"
                                   "    arrival: {process: poisson}\n";
static const char inference_perf_template[] = "num_requests: 5\n"
                                              "inference_perf:\n";

#define STAGES "  stages: [{rate: 4, duration: 3}]\n"
#define PREFIX(keys)                                                                               \
  "  shared_prefix: {num_unique_system_prompts: 2, "                                               \
  "num_users_per_system_prompt: 2, " keys "}\n"

static const wrong_value wrong_values[] = {
    {"top", "version: 3\n", "spec.yaml:6: key 'version': '3' is not a workload version"},
    {"top", "version: {}\n", "is not a string"},
    {"top", "seed: x\n", "key 'seed': 'x' is not a whole number"},
    {"top", "aggregate_rate: 1\nhorizon: 9\ncategory: speech\n",
     "spec.yaml:8: unknown category 'speech'; known are language"},
    {"top", "aggregate_rate: -1\nhorizon: 9\n",
     "spec.yaml:6: aggregate_rate is -1; expected a number of at least 0"},
    {"top", "aggregate_rate: fast\n", "'fast' is not a number"},
    {"top", "aggregate_rate: .inf\n", "invalid value"},
    {"top", "num_requests: 9\n", "aggregate_rate is 0 and client 1 has no lifecycle windows"},
    {"top", "aggregate_rate: 1\n", "the workload never ends"},
    {"top", "aggregate_rate: 1\nnum_requests: -1\n",
     "spec.yaml:7: num_requests is -1; expected an integer from 0"},
    {"top", "aggregate_rate: 1\nhorizon: -2\n",
     "spec.yaml:7: horizon is -2; expected an integer of at least 0"},
    {"top", "aggregate_rate: 1\nhorizon: 9\ntokens: 7\n",
     "spec.yaml:8: key 'tokens': '7' is neither drawn nor lazy"},
    {"top", "tokens: [1]\n", "a list is not a string"},
    {"top", "requests: 5\n", "'requests' is not a key of a workload"},
    {"top", "clints: 5\n",
     "spec.yaml:6: 'clints' is not a key of a workload; did you mean "
     "'clients'?"},
    {"top", "zzz: 5\n", "known are version, seed"},
    {"top", "cohorts: 5\n", "key 'cohorts': '5' is not a list"},
    {"top", "cohorts: [5]\n", "is not a mapping"},
    {"top", "servegen_data: {path: /nowhere}\n", "clients and servegen_data exclude each other"},
    {"top", "inference_perf: {}\n", "clients and inference_perf exclude each other"},
    {"top", "goodput_slo_targets: [1]\n", "is not a mapping"},
    {"top",
     "aggregate_rate: 1\nhorizon: 9\ngoodput_slo_targets: {batch: "
     "{ttft_ms: -1}}\n",
     "spec.yaml:8: goodput_slo_targets.batch: ttft_ms is -1"},
    {"top",
     "aggregate_rate: 1\nhorizon: 9\ngoodput_slo_targets: {batch: "
     "{itl_ms: -1}}\n",
     "itl_ms is -1; expected a number of at least 0"},
    {"top",
     "aggregate_rate: 1\nhorizon: 9\ngoodput_slo_targets: {batch: "
     "{e2e_ms: -1}}\n",
     "e2e_ms is -1"},
    {"top", "goodput_slo_targets: {batch: {e2e: 1}}\n", "'e2e' is not a key of a goodput target"},

    {"bare", "    output_distribution: {type: constant, params: {value: 4}}\n",
     "spec.yaml:4: client 1: input_distribution is missing"},
    {"bare", "    input_distribution: {type: normal}\n",
     "spec.yaml:6: key 'input_distribution': unknown type 'normal'"},
    {"bare", "    output_distribution: {type: gaussian}\n",
     "spec.yaml:6: key 'output_distribution': gaussian needs the parameter"},
    {"bare", "    output_distribution: {type: gaussian, params: 3}\n",
     "key 'params': '3' is not a mapping"},
    {"bare", "    output_distribution: {type: constant, params: {value: x}}\n",
     "key 'value': 'x' is not a number"},
    {"bare", "    output_distribution: {type: constant, params: {vale: 1}}\n",
     "constant has no parameter 'vale'"},
    {"bare",
     "    output_distribution: {type: gaussian, params: {mean: 1, std_dev: 1, "
     "min: 5, max: 4}}\n",
     "min is 5 and max 4"},
    {"bare", "    output_distribution: {type: empirical, params: {1a: 1}}\n",
     "'1a' is not a length"},
    {"bare", "    output_distribution: {type: empirical, file: x.csv}\n",
     "key 'file': 'x.csv' is not read"},
    {"bare", "    output_distribution: {typ: constant}\n",
     "'typ' is not a key of a distribution; did you mean 'type'?"},
    {"bare", "    output_distribution: fast\n", "is not a mapping"},
    {"bare", "    arrivall: 4\n", "'arrivall' is not a key of a client"},

    {"rate", "    id: {}\n", "key 'id'"},
    {"rate", "    tenant_id: []\n", "key 'tenant_id': a list is not a string"},
    {"rate", "    model: []\n", "key 'model': a list is not a string"},
    {"rate", "    adapter: []\n", "key 'adapter': a list is not a string"},
    {"rate", "    slo_class: fast\n",
     "spec.yaml:9: client 1 ('a'): unknown slo_class 'fast'; known are "
     "critical, realtime, standard, sheddable, batch, background"},
    {"rate", "    slo_class: standrad\n", "did you mean 'standard'"},
    {"rate", "    concurrency: 2\n", "concurrency and rate_fraction exclude each other"},
    {"rate", "    prefix_group: []\n", "is not a string"},
    {"rate", "    prefix_length: -1\n",
     "spec.yaml:9: client 1 ('a'): prefix_length is -1; expected an integer "
     "from 0"},
    {"rate", "    streaming: 3\n", "key 'streaming': '3' is not a boolean"},
    {"rate", "    network: 3\n", "key 'network': '3' is not a mapping"},
    {"rate", "    network: {rtt_ms: x}\n", "'x' is not a number"},
    {"rate", "    network: {bandwidth_mbps: x}\n", "'x' is not a number"},
    {"rate", "    network: {rtt: 1}\n", "'rtt' is not a key of a network"},
    {"rate", "    timeout: -1\n",
     "spec.yaml:9: client 1 ('a'): timeout is -1; expected an integer of at "
     "least 0"},
    {"rate", "    slo_target_us: -1\n", "spec.yaml:9: client 1 ('a'): slo_target_us is -1"},
    {"rate", "    closed_loop: 7\n", "key 'closed_loop': '7' is not a boolean"},
    {"rate", "    lifecycle: {}\n", "must have at least one member"},
    {"rate", "    lifecycle: {windows: []}\n", "must have at least one member"},
    {"rate",
     "    lifecycle: {windows: [{start_us: 900000000000000, end_us: "
     "900000000000001}]}\n",
     "client 1 ('a'): about 9e+08 of its arrivals are outside its lifecycle "
     "windows"},
    {"rate", "    lifecycle: {windows: [{start_us: -1, end_us: 5}]}\n",
     "spec.yaml:9: client 1 ('a'): lifecycle window 1: start_us is -1"},
    {"rate", "    lifecycle: {windows: [{start_us: 5, end_us: 5}]}\n",
     "lifecycle window 1: end_us is 5; expected more than start_us, 5"},
    {"rate", "    lifecycle: {windows: [{end_us: 5}, {end_us: 5, trace_rate: -1}]}\n",
     "lifecycle window 2: trace_rate is -1"},
    {"rate", "    lifecycle: {windows: [{end_us: 5, arrival: {cv: 1}}]}\n",
     "spec.yaml:9: client 1 ('a'): lifecycle window 1: arrival: unknown "
     "process ''; known are"},
    {"rate", "    lifecycle: {windows: [{end_us: 5, input_distribution: {type: x}}]}\n",
     "unknown type 'x'"},
    {"rate",
     "    lifecycle: {windows: [{end_us: 5, output_distribution: {type: "
     "x}}]}\n",
     "unknown type 'x'"},
    {"rate", "    reasoning: {multi_turn: {}}\n",
     "client 1 ('a'): multi_turn: max_rounds is 0; expected an integer from "
     "1"},
    {"rate", "    reasoning: {multi_turn: {max_rounds: x}}\n", "is not a whole"},
    {"rate", "    reasoning: {multi_turn: {max_rounds: 1, think_time_us: -1}}\n",
     "spec.yaml:9: client 1 ('a'): multi_turn: think_time_us is -1"},
    {"rate",
     "    reasoning: {multi_turn: {max_rounds: 1, think_time_us: "
     "9000000000000001}}\n",
     "think_time_us is 9000000000000001; expected an integer from 0 to "
     "9000000000000000"},
    {"rate", "    reasoning: {multi_turn: {max_rounds: 1.5}}\n",
     "key 'max_rounds': '1.5' is not a whole number"},
    {"rate", "    reasoning: {multi_turn: {max_rounds: 1, context_growth: grow}}\n",
     "multi_turn: unknown context_growth 'grow'; known are accumulate"},
    {"rate", "    reasoning: {multi_turn: {max_rounds: 1, single_session: 3}}\n",
     "is not a boolean"},
    {"rate", "    reasoning: {reason_ratio_distribution: {type: x}}\n", "unknown type 'x'"},
    {"rate",
     "    multimodal: {text_distribution: " FIVE "}\n"
     "    reasoning: {multi_turn: {max_rounds: 1}}\n",
     "multimodal and reasoning.multi_turn exclude each other"},
    {"rate", "    multimodal: {text_distribution: {type: x}}\n", "unknown type"},
    {"rate", "    multimodal: {image_distribution: " FIVE "}\n",
     "multimodal: image_count_distribution is missing"},
    {"rate", "    multimodal: {image_count_distribution: " FIVE "}\n",
     "multimodal: image_distribution is missing"},
    {"rate", "    multimodal: {audio_distribution: " FIVE "}\n",
     "audio_count_distribution is missing"},
    {"rate", "    multimodal: {audio_count_distribution: " FIVE "}\n",
     "audio_distribution is missing"},
    {"rate", "    multimodal: {video_distribution: " FIVE "}\n",
     "video_count_distribution is missing"},
    {"rate", "    multimodal: {video_count_distribution: " FIVE "}\n",
     "video_distribution is missing"},

    {"client", "    rate_fraction: -1\n    arrival: {process: poisson}\n",
     "spec.yaml:7: client 1 ('a'): rate_fraction is -1; expected a number"},
    {"client", "    rate_fraction: 1\n    arrival: {process: uniform}\n",
     "spec.yaml:8: key 'arrival': unknown process 'uniform'; known are"},
    {"client", "    rate_fraction: 1\n    arrival: {process: gamma, cv: 0}\n", "cv is 0"},
    {"client", "    arrival: {process: gamma, shape: -1}\n", "shape is -1"},
    {"client", "    arrival: {process: gamma, scale: -1}\n", "scale is -1"},
    {"client", "    arrival: {process: gamma, cw: 1}\n",
     "'cw' is not a key of an arrival; did you mean 'cv'?"},
    {"client", "    arrival: {process: weibull, cv: 11}\n", "it must be from 0.01 to 10.4"},
    {"client", "    rate_fraction: 1\n", "arrival: unknown process ''"},
    {"client", "    concurrency: -1\n",
     "spec.yaml:7: client 1 ('a'): concurrency is -1; expected an integer "
     "from 0"},
    {"client", "    concurrency: 1\n    think_time_us: -1\n",
     "spec.yaml:8: client 1 ('a'): think_time_us is -1"},
    {"client",
     "    concurrency: 1\n"
     "  - {input_distribution: " FIVE ", output_distribution: " FIVE ", arrival: "
     "{process: poisson}, rate_fraction: 1, reasoning: {multi_turn: "
     "{max_rounds: 2}}}\n",
     "client 1 ('a') has concurrency and client 2 has multi_turn"},
    {"client",
     "    concurrency: 1\n    slo_class: batch\n"
     "  - {input_distribution: " FIVE ", output_distribution: " FIVE ", concurrency: 1}\n",
     "client 1 ('a') has an slo_class and client 2 has none"},

    {"cohort", "    population: 0\n",
     "spec.yaml:9: cohort 1 ('a'): population is 0; expected an integer from "
     "1 to"},
    {"cohort", "    population: 1\n    prefix_sharing: all\n",
     "spec.yaml:10: cohort 1 ('a'): unknown prefix_sharing 'all'; known "
     "are shared, per_member"},
    {"cohort", "    population: 1\n    prefix_sharing: per_member\n",
     "prefix_sharing per_member needs a prefix_group"},
    {"cohort", "    population: 1\n    diurnal: {peak_hour: 24}\n",
     "spec.yaml:10: cohort 1 ('a'): diurnal: peak_hour is 24; expected an "
     "integer"},
    {"cohort", "    population: 1\n    diurnal: {peak_to_trough_ratio: 0.5}\n",
     "peak_to_trough_ratio is 0.5; expected a number of at least 1"},
    {"cohort", "    population: 1\n    spike: {start_time_us: -1}\n", "spike: start_time_us is -1"},
    {"cohort", "    population: 1\n    spike: {duration_us: 0}\n",
     "spike: duration_us is 0; expected an integer of at least 1"},
    {"cohort", "    population: 1\n    spike: {duration_us: 1, trace_rate: 0}\n",
     "spike: trace_rate is 0"},
    {"cohort", "    population: 1\n    drain: {start_time_us: -1}\n", "drain: start_time_us is -1"},
    {"cohort", "    population: 1\n    drain: {ramp_duration_us: -1}\n",
     "drain: ramp_duration_us is -1"},
    {"cohort", "    concurrency: 1\n", "'concurrency' is not a key of a cohort"},
    {"cohort", "    think_time_us: 1\n", "is not a key of a cohort"},
    {"cohort", "    lifecycle: {}\n", "is not a key of a cohort"},

    {"inference_perf", PREFIX("question_len: 1"), "there are 0 stages"},
    {"inference_perf", STAGES, "shared_prefix is missing"},
    {"inference_perf", "  stages: [{rate: 0, duration: 3}]\n" PREFIX(""),
     "spec.yaml:3: inference_perf: stage 1: rate is 0"},
    {"inference_perf", "  stages: [{rate: 1, duration: 0}]\n" PREFIX(""),
     "spec.yaml:3: inference_perf: stage 1: duration is 0"},
    {"inference_perf", "  stages: [{rate: 1, duration: 1}]\n" PREFIX(""),
     "1 requests for 4 users; each needs at least one"},
    {"inference_perf",
     STAGES "  shared_prefix: {num_unique_system_prompts: "
            "0}\n",
     "num_unique_system_prompts is 0"},
    {"inference_perf",
     STAGES "  shared_prefix: {num_unique_system_prompts: 1, "
            "num_users_per_system_prompt: 0}\n",
     "num_users_per_system_prompt is 0"},
    {"inference_perf", STAGES PREFIX("system_prompt_len: -1"), "system_prompt_len is -1"},
    {"inference_perf", STAGES PREFIX("question_len: -1"), "question_len is -1"},
    {"inference_perf", STAGES PREFIX("output_len: -1"), "output_len is -1"},
    {"inference_perf", STAGES PREFIX("enable_multi_turn_chat: 3"), "is not a boolean"},
    {"inference_perf", "  stages: 4\n", "is not a list"},

    {"nothing", "servegen_data: {}\n", "path is missing"},
    {"nothing", "servegen_data: {path: /nowhere}\n", "/nowhere"},
    {"nothing", "servegen_data: {path: []}\n", "is not a string"},
    {"nothing", "servegen_data: {time_window: []}\n", "is not a string"},
    {"nothing", "servegen_data: {span_start: x}\n", "is not a whole number"},
    {"nothing", "servegen_data: {span_end: x}\n", "is not a whole number"},
    {"nothing", "servegen_data: {path: x, window_duration_secs: -1}\n",
     "window_duration_secs is -1"},
    {"nothing", "servegen_data: {path: x, drain_timeout_secs: -1}\n", "drain_timeout_secs is -1"},
    {"nothing", "seed: 5\n", "the workload has no clients"},
    {"nothing", "clients: []\n", "the workload has no clients"},
    {"nothing", "- 5\n", "is not a mapping"},
    {"nothing", "seed: 5\nseed: 6\n", "spec.yaml:2"},
};

static void write_yaml(const wrong_value *wrong, char yaml[YAML_SIZE]) {
  static const struct {
    const char *name;
    const char *first;
    const char *second;
  } templates[] = {{"top", top_template, ""},
                   {"client", client_template, ""},
                   {"rate", client_template, rate_template},
                   {"bare", bare_template, ""},
                   {"cohort", cohort_template, ""},
                   {"inference_perf", inference_perf_template, ""},
                   {"nothing", "", ""}};
  for (size_t i = 0; i < COUNT(templates); i++) {
    if (strcmp(templates[i].name, wrong->where) == 0) {
      snprintf(yaml, YAML_SIZE, "%s%s%s", templates[i].first, templates[i].second, wrong->text);
      return;
    }
  }
  CHECK(false);
}

static void wrong_values_are_named(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  for (size_t i = 0; i < COUNT(wrong_values); i++) {
    char yaml[YAML_SIZE];
    write_yaml(&wrong_values[i], yaml);
    blis_written_spec *written;
    blis_status status = parse(&alloc, yaml, NULL, &written);
    if (status == BLIS_OK) { /* what only the generator finds */
      blis_generator *generator;
      status = blis_generator_new(&alloc, blis_written_spec_get(written), &generator, &error);
      blis_written_spec_free(written);
    }
    if (status == BLIS_OK) {
      printf("%s\n", yaml);
    }
    CHECK(status != BLIS_OK);
    CHECK_CONTAINS(error.message, wrong_values[i].part);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

/* Other things. */

static void settings_replace_what_is_written(void) {
  blis_alloc alloc = blis_alloc_heap();
  char yaml[YAML_SIZE];
  const wrong_value text = {"top",
                            "seed: 3\naggregate_rate: 1\nnum_requests: 9\n"
                            "horizon: 8\n",
                            ""};
  write_yaml(&text, yaml);
  blis_spec_settings settings = {.seed = 42, .horizon_us = 100};
  blis_written_spec *written;
  CHECK_OK(parse(&alloc, yaml, &settings, &written), &error);
  const blis_workload_spec *spec = blis_written_spec_get(written);
  CHECK_EQ_I64(spec->seed, 3);
  CHECK_EQ_I64(spec->horizon_us, 8);
  CHECK_EQ_I64(spec->num_requests, 9);
  blis_written_spec_free(written);
  settings = (blis_spec_settings){.seed = 42,
                                  .replaces_seed = true,
                                  .replaces_horizon = true,
                                  .num_requests = 7,
                                  .replaces_num_requests = true,
                                  .timeout_us = 5,
                                  .replaces_timeout = true,
                                  .lazy_tokens = true,
                                  .replaces_tokens = true};
  CHECK_OK(parse(&alloc, yaml, &settings, &written), &error);
  spec = blis_written_spec_get(written);
  CHECK_EQ_I64(spec->seed, 42);
  CHECK_EQ_I64(spec->horizon_us, 0);
  CHECK_EQ_I64(spec->num_requests, 7);
  CHECK_EQ_I64(spec->clients[0].timeout_us, 5);
  CHECK(spec->lazy_tokens);
  blis_written_spec_free(written);
}

static void harmless_things_are_noted(void) {
  blis_alloc alloc = blis_alloc_heap();
  char yaml[YAML_SIZE];
  const wrong_value text = {"rate",
                            "    slo_class: realtime\n"
                            "    network: {rtt_ms: 1}\n"
                            "    reasoning: {reason_ratio_distribution: " FIVE "}\n"
                            "    lifecycle: {windows: [{start_us: 0, end_us: 9, "
                            "arrival: {process: gamma, cv: 11}}, {start_us: 9, "
                            "end_us: 10, arrival: {process: gamma, cv: 12}}]}\n",
                            ""};
  write_yaml(&text, yaml);
  blis_written_spec *written;
  CHECK_OK(parse(&alloc, yaml, NULL, &written), &error);
  CHECK_EQ_I64(blis_written_spec_note_count(written), 4);
  CHECK_CONTAINS(blis_written_spec_note(written, 3),
                 "client 1 ('a'): gamma with cv 11 is too bursty to sample; "
                 "using poisson (and 1 more like this)");
  CHECK_CONTAINS(blis_written_spec_note(written, 0), "critical");
  CHECK_CONTAINS(blis_written_spec_note(written, 1), "network");
  CHECK_CONTAINS(blis_written_spec_note(written, 2), "multi_turn");
  CHECK_STR(blis_written_spec_get(written)->clients[0].slo_class, "critical");
  blis_written_spec_free(written);
}

static void what_has_no_effect_is_noted(void) {
  static const wrong_value cases[] = {
      {"rate", "    network: {rtt_ms: 1}\n",
       "client 1 ('a'): network has no effect on a simulation"},
      {"rate", "    reasoning: {reason_ratio_distribution: " FIVE "}\n",
       "reason_ratio_distribution has no effect without multi_turn"},
      {"rate", "    prefix_length: 5\n", "prefix_length has no effect without prefix_group"},
      {"rate", "    closed_loop: true\n",
       "closed_loop without multi_turn only gives requests a deadline"},
      {"rate", "    think_time_us: 0\n", "think_time_us has no effect without concurrency"},
      {"client", "    rate_fraction: 1\n    arrival: {process: poisson, cv: 1}\n",
       "client 1 ('a'): cv, shape and scale are for gamma and weibull"},
      {"client", "    rate_fraction: 1\n    arrival: {process: gamma, scale: 1}\n",
       "shape and scale have no effect unless both are given"},
      {"rate",
       "    lifecycle: {windows: [{end_us: 5, arrival: {process: constant, "
       "shape: 3}}]}\n",
       "cv, shape and scale are for gamma and weibull"},
      {"client", "    concurrency: 1\n    arrival: {process: poisson}\n",
       "arrival has no effect on users (concurrency)"},
      {"client", "    concurrency: 1\n    lifecycle: {windows: [{end_us: 5}]}\n",
       "lifecycle has no effect on users (concurrency)"},
      {"rate", "    slo_class: batch\ngoodput_slo_targets: {batsh: {ttft_ms: 1}}\n",
       "goodput_slo_targets: no client has the slo_class 'batsh'"},
      {"nothing", "servegen_data: {path: tests/data/servegen/language, span_end: 3}\n",
       "servegen_data: time_window, span_start and span_end have no effect"},
  };
  blis_alloc alloc = blis_alloc_heap();
  for (size_t i = 0; i < COUNT(cases); i++) {
    char yaml[YAML_SIZE];
    write_yaml(&cases[i], yaml);
    blis_written_spec *written;
    CHECK_OK(parse(&alloc, yaml, NULL, &written), &error);
    size_t count = blis_written_spec_note_count(written);
    CHECK(count >= 1);
    CHECK_CONTAINS(blis_written_spec_note(written, count - 1), cases[i].part);
    blis_written_spec_free(written);
  }
  /* Users need no arrival, and what compose writes for them is none. */
  static const wrong_value good[] = {
      {"rate", "    prefix_group: g\n    prefix_length: 5\n", ""},
      {"client", "    concurrency: 1\n    arrival: {process: \"\"}\n", ""},
      {"client",
       "    rate_fraction: 1\n"
       "    arrival: {process: gamma, cv: 1, shape: 1, scale: 1}\n",
       ""}};
  for (size_t i = 0; i < COUNT(good); i++) {
    char yaml[YAML_SIZE];
    write_yaml(&good[i], yaml);
    blis_written_spec *written;
    CHECK_OK(parse(&alloc, yaml, NULL, &written), &error);
    CHECK_EQ_I64(blis_written_spec_note_count(written), 0);
    blis_written_spec_free(written);
  }
}

static void no_memory_is_an_error(void) {
  char yaml[YAML_SIZE];
  const wrong_value text = {"cohort",
                            "    population: 3\n    prefix_group: g\n"
                            "    diurnal: {peak_hour: 3, peak_to_trough_ratio: 2}\n",
                            ""};
  write_yaml(&text, yaml);
  blis_status status = BLIS_ERR_NOMEM;
  for (long i = 1; status != BLIS_OK; i++) {
    blis_alloc_probe memory = {.fail_at = i};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_written_spec *written;
    status = parse(&alloc, yaml, NULL, &written);
    if (status == BLIS_OK) {
      blis_written_spec_free(written);
    } else {
      CHECK_STATUS(status, BLIS_ERR_NOMEM);
    }
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(requests_are_as_recorded);
  RUN(wrong_values_are_named);
  RUN(settings_replace_what_is_written);
  RUN(harmless_things_are_noted);
  RUN(what_has_no_effect_is_noted);
  RUN(no_memory_is_an_error);
  return check_done();
}
