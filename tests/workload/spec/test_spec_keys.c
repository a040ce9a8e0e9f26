/*
 * A wrong value of every key of a workload specification is an error that names
 * line, key, value and what is allowed. Keys are those of the reader's own
 * tables, so that a new one cannot be forgotten here.
 */
#include <stdbool.h>

#include "check.h"
#include "workload/generate/generator.h"
#include "workload/spec/sections.h"
#include "workload/spec/written_spec.h"

enum { TEXT_SIZE = 8192, MAX_DEPTH = 8 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static blis_error error;

/* Reads a text, and makes the generator of it. */
static blis_status read_text(const char *text) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_yaml *yaml;
  CHECK_OK(blis_yaml_parse(&alloc, "spec.yaml", blis_slice_of(text), &yaml, &error), &error);
  blis_written_spec *written;
  blis_status status = blis_written_spec_from(&alloc, blis_yaml_root(yaml), NULL, &written, &error);
  blis_yaml_free(yaml);
  if (status == BLIS_OK) {
    blis_generator *generator;
    status = blis_generator_new(&alloc, blis_written_spec_get(written), &generator, &error);
    if (status == BLIS_OK) {
      blis_generator_free(generator);
    }
    blis_written_spec_free(written);
  }
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status;
}

/* The message of a text that is wrong in a line. */
static const char *fails_in_line(const char *text, int line) {
  blis_status status = read_text(text);
  if (status == BLIS_OK) {
    printf("%s", text);
    CHECK(status != BLIS_OK);
  }
  char place[32];
  snprintf(place, sizeof place, "spec.yaml:%d: ", line);
  if (strncmp(error.message, place, strlen(place)) != 0) {
    printf("%s", text);
    CHECK_CONTAINS(error.message, place);
  }
  return error.message;
}

/* Values of a wrong type. */

typedef struct wrong_type {
  blis__key_kind kind;
  const char *value;
  const char *shown;    /* as the message has it */
  const char *expected; /* what is allowed */
} wrong_type;

static const wrong_type wrong_types[] = {
    {BLIS__KEY_INTEGER, "word", "'word'", "is not a whole number"},
    {BLIS__KEY_INTEGER, "[1]", "a list", "is not a whole number"},
    {BLIS__KEY_INTEGER, "{a: 1}", "a mapping", "is not a whole number"},
    {BLIS__KEY_INTEGER, "'1'", "'1'", "is not a whole number"},
    {BLIS__KEY_NUMBER, "word", "'word'", "is not a number"},
    {BLIS__KEY_NUMBER, "[1]", "a list", "is not a number"},
    {BLIS__KEY_NUMBER, ".nan", "'.nan'", "expected"},
    {BLIS__KEY_NUMBER, ".inf", "'.inf'", "expected"},
    {BLIS__KEY_TEXT, "[1]", "a list", "is not a string"},
    {BLIS__KEY_TEXT, "{a: 1}", "a mapping", "is not a string"},
    {BLIS__KEY_BOOLEAN, "7", "'7'", "is not a boolean"},
    {BLIS__KEY_BOOLEAN, "word", "'word'", "is not a boolean"},
    {BLIS__KEY_BOOLEAN, "[1]", "a list", "is not a boolean"},
    {BLIS__KEY_LOOP, "7", "'7'", "is not a boolean"},
    {BLIS__KEY_TIMEOUT, "word", "'word'", "is not a whole number"},
    {BLIS__KEY_TOKENS, "7", "'7'", "is neither drawn nor lazy"},
    {BLIS__KEY_TOKENS, "[1]", "a list", "is not a string"},
    {BLIS__KEY_DISTRIBUTION, "7", "'7'", "is not a mapping"},
    {BLIS__KEY_DISTRIBUTION, "[1]", "a list", "is not a mapping"},
    {BLIS__KEY_DISTRIBUTION, "{type: word}", "'word'", "known are gauss"},
    {BLIS__KEY_DISTRIBUTION, "{typ: word}", "'typ'", "did you mean 'type'"},
    {BLIS__KEY_DISTRIBUTION, "{type: constant}", "constant", "needs the parameter 'value'"},
    {BLIS__KEY_DISTRIBUTION, "{type: constant, params: 7}", "'7'", "is not a mapping"},
    {BLIS__KEY_ARRIVAL, "7", "'7'", "is not a mapping"},
    {BLIS__KEY_ARRIVAL, "{process: word}", "'word'", "known are poisson"},
    {BLIS__KEY_ARRIVAL, "{proces: word}", "'proces'", "mean 'process'"},
    {BLIS__KEY_ARRIVAL, "{process: gamma, cv: word}", "'word'", "is not a number"},
    {BLIS__KEY_ARRIVAL, "{process: gamma, cv: 0}", "cv is 0", "it must be a finite number above 0"},
    {BLIS__KEY_PART, "7", "'7'", "is not a mapping"},
    {BLIS__KEY_PART, "[1]", "a list", "is not a mapping"},
    {BLIS__KEY_PART, "{zzz: 1}", "'zzz'", "known are "},
    {BLIS__KEY_INSIDE, "7", "'7'", "m"}, /* a mapping, or some members */
    {BLIS__KEY_INSIDE, "[1]", "a list", "is not a mapping"},
    {BLIS__KEY_INSIDE, "{zzz: 1}", "'zzz'", "known are "},
    {BLIS__KEY_LIST, "7", "'7'", "is not a list"},
    {BLIS__KEY_LIST, "{a: 1}", "a mapping", "is not a list"},
    {BLIS__KEY_LIST, "[7]", "'7'", "is not a mapping"},
    {BLIS__KEY_LIST, "[{zzz: 1}]", "'zzz'", "known are "},
    {BLIS__KEY_NAMED, "7", "'7'", "is not a mapping"},
    {BLIS__KEY_NAMED, "[1]", "a list", "is not a mapping"},
    {BLIS__KEY_NAMED, "{a: 7}", "'7'", "is not a mapping"},
};

/* From the top to a section. */
typedef struct path {
  const blis__key *keys[MAX_DEPTH];
  size_t depth;
} path;

/* A key of the section at the end of a path; returns the line of its value. */
static int write_key(const path *way, const char *key, const char *value, char text[TEXT_SIZE]) {
  int length = 0;
  for (size_t i = 0; i < way->depth; i++) {
    const blis__key *step = way->keys[i];
    const char *open = step->kind == BLIS__KEY_LIST    ? "[{"
                       : step->kind == BLIS__KEY_NAMED ? "{some: {"
                                                       : "{";
    length +=
        snprintf(text + length, TEXT_SIZE - (size_t)length, "%s: %s\n", step->value.name, open);
  }
  length += snprintf(text + length, TEXT_SIZE - (size_t)length, "%s: %s\n", key, value);
  for (size_t i = way->depth; i-- > 0;) {
    const blis__key *step = way->keys[i];
    const char *close = step->kind == BLIS__KEY_LIST    ? "}]\n"
                        : step->kind == BLIS__KEY_NAMED ? "}}\n"
                                                        : "}\n";
    length += snprintf(text + length, TEXT_SIZE - (size_t)length, "%s", close);
  }
  return (int)way->depth + 1;
}

static void check_types(const path *way, const blis__key *key) {
  size_t tried = 0;
  for (size_t i = 0; i < COUNT(wrong_types); i++) {
    const wrong_type *wrong = &wrong_types[i];
    if (wrong->kind != key->kind) {
      continue;
    }
    char text[TEXT_SIZE];
    int line = write_key(way, key->value.name, wrong->value, text);
    const char *message = fails_in_line(text, line);
    CHECK_CONTAINS(message, wrong->shown);
    CHECK_CONTAINS(message, wrong->expected);
    bool is_own = *wrong->value != '{' && *wrong->value != '[';
    if (is_own) {
      char named[64];
      snprintf(named, sizeof named, "key '%s'", key->value.name);
      CHECK_CONTAINS(message, named);
    }
    tried++;
  }
  if (tried == 0) {
    printf("no wrong value for a key like %s\n", key->value.name);
  }
  CHECK(tried > 0);
}

typedef void visit(const path *way, const blis__section *section, const blis__key *key);

/* Calls fn for every key of every section, those of clients in cohorts too. */
static void walk(path *way, const blis__section *section, visit *fn) {
  const blis__key *keys[BLIS__SECTION_MAX_KEYS];
  size_t count = blis__section_list_keys(section, keys);
  for (size_t i = 0; i < count; i++) {
    fn(way, section, keys[i]);
    if (keys[i]->section != NULL) {
      CHECK(way->depth < MAX_DEPTH);
      way->keys[way->depth++] = keys[i];
      walk(way, keys[i]->section, fn);
      way->depth--;
    }
  }
}

static int visited;

static void visit_types(const path *way, const blis__section *section, const blis__key *key) {
  (void)section;
  check_types(way, key);
  visited++;
}

static void values_of_a_wrong_type_are_named(void) {
  path way = {.depth = 0};
  visited = 0;
  walk(&way, &blis__spec_top_section, visit_types);
  CHECK(visited > 100);
}

/* Values out of range, in a specification that is fine but for them. */

#define FIVE "{type: constant, params: {value: 5}}"
#define CLIENT_KEYS                                                                                \
  "id: a", "rate_fraction: 1", "arrival: {process: poisson}", "input_distribution: " FIVE,         \
      "output_distribution: " FIVE
#define ALL_CLIENT_KEYS                                                                            \
  "id: a, rate_fraction: 1, arrival: {process: poisson}, "                                         \
  "input_distribution: " FIVE ", output_distribution: " FIVE
#define IN_CLIENT "aggregate_rate: 1\nnum_requests: 5\nclients: [{" ALL_CLIENT_KEYS
#define IN_COHORT                                                                                  \
  "aggregate_rate: 1\nnum_requests: 5\ncohorts: [{population: 2, "                                 \
  "" ALL_CLIENT_KEYS
#define PREFIXES "num_unique_system_prompts: 1", "num_users_per_system_prompt: 1"

typedef struct frame {
  const char *section;
  const char *before;
  const char *after;
  const char *lines[8]; /* the keys that have to be there */
} frame;

static const frame frames[] = {
    {"workload",
     "",
     "clients: [{" ALL_CLIENT_KEYS "}]\n",
     {"aggregate_rate: 1", "num_requests: 5"}},
    {"client", "aggregate_rate: 1\nnum_requests: 5\nclients: [{\n", "}]\n", {CLIENT_KEYS}},
    {"lifecycle window",
     IN_CLIENT ", lifecycle: {windows: [{\n",
     "}]}}]\n",
     {"start_us: 0", "end_us: 5000000"}},
    {"lifecycle", IN_CLIENT ", lifecycle: {\n", "}}]\n", {NULL}},
    {"network", IN_CLIENT ", network: {\n", "}}]\n", {NULL}},
    {"multimodal block", IN_CLIENT ", multimodal: {\n", "}}]\n", {"text_distribution: " FIVE}},
    {"reasoning block", IN_CLIENT ", reasoning: {\n", "}}]\n", {"multi_turn: {max_rounds: 1}"}},
    {"multi_turn block", IN_CLIENT ", reasoning: {multi_turn: {\n", "}}}]\n", {"max_rounds: 1"}},
    {"cohort",
     "aggregate_rate: 1\nnum_requests: 5\ncohorts: [{\n",
     "}]\n",
     {"population: 2", CLIENT_KEYS}},
    {"diurnal block",
     IN_COHORT ", diurnal: {\n",
     "}}]\n",
     {"peak_hour: 1", "peak_to_trough_ratio: 2"}},
    {"spike block", IN_COHORT ", spike: {\n", "}}]\n", {"duration_us: 5"}},
    {"drain block", IN_COHORT ", drain: {\n", "}}]\n", {"ramp_duration_us: 5"}},
    {"inference_perf block",
     "inference_perf: {\n",
     "}\n",
     {"stages: [{rate: 4, duration: 3}]", "shared_prefix: {num_unique_system_prompts: 1, "
                                          "num_users_per_system_prompt: 1}"}},
    {"stage",
     "inference_perf: {shared_prefix: {num_unique_system_prompts: 1, "
     "num_users_per_system_prompt: 1}, stages: [{\n",
     "}]}\n",
     {"rate: 4", "duration: 3"}},
    {"shared_prefix block",
     "inference_perf: {stages: [{rate: 4, duration: 3}], shared_prefix: {\n",
     "}}\n",
     {PREFIXES}},
    {"servegen_data block", "servegen_data: {\n", "}\n", {"path: tests/data/servegen/language"}},
    {"goodput target", IN_CLIENT "}]\ngoodput_slo_targets: {some: {\n", "}}\n", {"ttft_ms: 5"}},
};

static const frame *frame_of(const blis__section *section) {
  for (size_t i = 0; i < COUNT(frames); i++) {
    if (strcmp(frames[i].section, section->name) == 0) {
      return &frames[i];
    }
  }
  printf("there is no frame for a %s\n", section->name);
  CHECK(false);
  return NULL;
}

static bool is_key(const char *line, const char *key) {
  size_t length = strlen(key);
  return strncmp(line, key, length) == 0 && line[length] == ':';
}

static int count_lines(const char *text) {
  int lines = 0;
  for (; *text != '\0'; text++) {
    lines += *text == '\n';
  }
  return lines;
}

/* A section with a key; returns its line. NULL = only what has to be there. */
static int write_frame(const frame *f, const char *key, const char *value, char text[TEXT_SIZE]) {
  const char *comma = *f->before != '\0' ? "," : "";
  int length = snprintf(text, TEXT_SIZE, "%s", f->before);
  for (size_t i = 0; i < COUNT(f->lines) && f->lines[i] != NULL; i++) {
    if (key == NULL || !is_key(f->lines[i], key)) {
      length += snprintf(text + length, TEXT_SIZE - (size_t)length, "%s%s\n", f->lines[i], comma);
    }
  }
  int line = count_lines(text) + 1;
  if (key != NULL) {
    length += snprintf(text + length, TEXT_SIZE - (size_t)length, "%s: %s\n", key, value);
  }
  snprintf(text + length, TEXT_SIZE - (size_t)length, "%s", f->after);
  return line;
}

/* Any number, or any text, will do. */
static const char *const free_keys[][2] = {
    {"workload", "seed"},
    {"client", "id"},
    {"client", "tenant_id"},
    {"client", "model"},
    {"client", "adapter"},
    {"client", "prefix_group"},
    {"cohort", "id"},
    {"cohort", "tenant_id"},
    {"cohort", "model"},
    {"cohort", "adapter"},
    {"cohort", "prefix_group"},
    {"servegen_data block", "time_window"},
    {"servegen_data block", "span_start"},
    {"servegen_data block", "span_end"},
};

static bool is_free(const blis__section *section, const blis__key *key) {
  for (size_t i = 0; i < COUNT(free_keys); i++) {
    if (strcmp(free_keys[i][0], section->name) == 0 &&
        strcmp(free_keys[i][1], key->value.name) == 0) {
      return true;
    }
  }
  return false;
}

static void visit_range(const path *way, const blis__section *section, const blis__key *key) {
  (void)way;
  bool is_number = key->kind == BLIS__KEY_INTEGER || key->kind == BLIS__KEY_NUMBER ||
                   key->kind == BLIS__KEY_TIMEOUT;
  if (!is_number && key->kind != BLIS__KEY_TEXT) {
    return; /* what they may be was all tried above */
  }
  const char *value = is_number ? "-1" : "zzz";
  char text[TEXT_SIZE];
  int line = write_frame(frame_of(section), key->value.name, value, text);
  visited++;
  if (is_free(section, key)) {
    CHECK_OK(read_text(text), &error);
    return;
  }
  bool is_path = strcmp(key->value.name, "path") == 0; /* the file has no lines */
  if (is_path) {
    CHECK(read_text(text) != BLIS_OK);
    CHECK_CONTAINS(error.message, "zzz");
    return;
  }
  const char *message = fails_in_line(text, line);
  CHECK_CONTAINS(message, value);
  CHECK_CONTAINS(message, key->value.name);
  bool has_allowed = strstr(message, "expected") != NULL || strstr(message, "allowed") != NULL ||
                     strstr(message, "known are") != NULL;
  if (!has_allowed) {
    CHECK_CONTAINS(message, "expected");
  }
}

static void values_out_of_range_are_named(void) {
  path way = {.depth = 0};
  visited = 0;
  walk(&way, &blis__spec_top_section, visit_range);
  CHECK(visited > 60);
}

/* The frames are no errors themselves, or the errors above might be theirs. */
static void frames_are_fine(void) {
  for (size_t i = 0; i < COUNT(frames); i++) {
    char text[TEXT_SIZE];
    bool is_empty = frames[i].lines[0] == NULL;
    write_frame(&frames[i], NULL, NULL, text);
    if (is_empty) {
      continue;
    }
    if (read_text(text) != BLIS_OK) {
      printf("%s%s\n", text, error.message);
      CHECK(false);
    }
  }
}

/* What is left out and has to be there is told with the place that lacks it. */
static void left_out_values_are_named(void) {
  static const struct {
    const char *section;
    const char *key;
    const char *message;
  } cases[] = {
      {"client", "rate_fraction",
       "spec.yaml:3: client 1 ('a'): rate_fraction is 0; expected a number "
       "above 0 (it was left out)"},
      {"client", "arrival", "spec.yaml:3: client 1 ('a'): arrival: unknown process ''"},
      {"client", "input_distribution",
       "spec.yaml:3: client 1 ('a'): input_distribution is missing"},
      {"client", "output_distribution", "output_distribution is missing"},
      {"cohort", "population",
       "spec.yaml:3: cohort 1 ('a'): population is 0; expected an integer "
       "from 1 to "
       "100000 (it was left out)"},
      {"lifecycle window", "end_us",
       "spec.yaml:3: client 1 ('a'): lifecycle window 1: end_us is 0; "
       "expected an integer of at least 1 (it was left out)"},
      {"multi_turn block", "max_rounds",
       "spec.yaml:3: client 1 ('a'): multi_turn: max_rounds is 0; expected "
       "an integer from 1 to 1000000 (it was left out)"},
      {"multimodal block", "text_distribution",
       "spec.yaml:3: client 1 ('a'): multimodal is empty; it needs"},
      {"diurnal block", "peak_to_trough_ratio",
       "peak_to_trough_ratio is 0; expected a number of at least 1 "
       "(it was left out)"},
      {"spike block", "duration_us",
       "duration_us is 0; expected an integer of at least 1 "
       "(it was left out)"},
      {"drain block", "ramp_duration_us", "ramp_duration_us is 0"},
      {"stage", "rate",
       "spec.yaml:1: inference_perf: stage 1: rate is 0; expected a number "
       "above 0 (it was left out)"},
      {"shared_prefix block", "num_unique_system_prompts", "num_unique_system_prompts is 0"},
      {"servegen_data block", "path", "spec.yaml:1: servegen_data: path is"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    const blis__section named = {.name = cases[i].section};
    char text[TEXT_SIZE];
    write_frame(frame_of(&named), cases[i].key, "null", text);
    CHECK(read_text(text) != BLIS_OK);
    CHECK_CONTAINS(error.message, cases[i].message);
  }
}

/* Where clients do not go together, the line is that of the later one. */
static void clients_that_do_not_go_together_are_named(void) {
  static const struct {
    const char *text;
    const char *message;
  } cases[] = {
      {"aggregate_rate: 1\nnum_requests: 5\nclients:\n  - {" ALL_CLIENT_KEYS
       ", slo_class: batch}\n  - {" ALL_CLIENT_KEYS "}\n",
       "spec.yaml:5: client 1 ('a') has an slo_class and client 2 ('a') "
       "has "
       "none"},
      {"num_requests: 5\nclients:\n  - {id: u, concurrency: 1, "
       "input_distribution: " FIVE ", output_distribution: " FIVE "}\n  - {" ALL_CLIENT_KEYS "}\n",
       "spec.yaml:1: aggregate_rate is 0 and client 2 ('a') has no "
       "lifecycle"},
      {"aggregate_rate: 1\nnum_requests: 5\nclients:\n  - {id: u, concurrency: "
       "1, input_distribution: " FIVE ", output_distribution: " FIVE "}\n  - {" ALL_CLIENT_KEYS
       ", reasoning: {multi_turn: {max_rounds: 2}}}\n",
       "spec.yaml:5: client 1 ('u') has concurrency and client 2 ('a') has "
       "multi_turn"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    CHECK(read_text(cases[i].text) != BLIS_OK);
    CHECK_CONTAINS(error.message, cases[i].message);
  }
}

int main(void) {
  RUN(values_of_a_wrong_type_are_named);
  RUN(frames_are_fine);
  RUN(values_out_of_range_are_named);
  RUN(left_out_values_are_named);
  RUN(clients_that_do_not_go_together_are_named);
  return check_done();
}
