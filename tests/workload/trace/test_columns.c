/* columns.h: roles of columns by their names, by their types, and by what the user states. */
#include "workload/trace/formats/columns.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { MANY = 12 };

static blis_error error;

/* Columns of numbers, except those that start with '"', which hold texts. */
static size_t make(blis__column columns[MANY], const char *const *names) {
  size_t count = 0;
  for (; names[count] != NULL; count++) {
    bool is_text = names[count][0] == '"';
    columns[count] =
        (blis__column){.values = 5, .numbers = is_text ? 0 : 5, .times = is_text ? 0 : 5};
    snprintf(columns[count].name, sizeof columns[count].name, "%s", names[count] + is_text);
  }
  return count;
}

static const char *described(const char *const *names, const char *stated) {
  static char text[512];
  blis__column columns[MANY];
  blis__mapping map;
  size_t count = make(columns, names);
  if (blis__columns_map(columns, count, stated, "t.csv", &map, &error) != BLIS_OK) {
    return error.message;
  }
  blis__columns_describe(&map, columns, text, sizeof text);
  return text;
}

static void names_have_roles(void) {
  static const struct {
    const char *names[MANY];
    const char *expected;
  } cases[] = {
      {{"timestamp", "prompt_tokens", "output_tokens"},
       "timestamp=timestamp, prompt=prompt_tokens, output=output_tokens"},
      {{"Arrival Time (ms)", "Input Length", "Output-Length", "\"user"},
       "timestamp=Arrival Time (ms), prompt=Input Length, output=Output-Length, tenant=user"},
      {{"created", "usage.prompt_tokens", "usage.completion_tokens", "\"id"},
       "timestamp=created, prompt=usage.prompt_tokens, output=usage.completion_tokens"},
      /* Lengths go before texts, and timestamps before other times. */
      {{"\"prompt", "isl", "osl", "start", "timestamp"},
       "timestamp=timestamp, prompt=isl, output=osl"},
      {{"\"prompt", "\"response", "time_s"}, "timestamp=time_s, prompt=prompt, output=response"},
      {{"\"timestamp", "x"}, ""},
      {{"ts", "prompt_len", "gen_len", "\"model", "\"conversation_id", "turn"},
       "timestamp=ts, prompt=prompt_len, output=gen_len, session=conversation_id, turn=turn, "
       "client=model"},
      {{NULL}, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_STR(described(cases[i].names, NULL), cases[i].expected);
  }
}

static void the_user_decides(void) {
  static const char *const names[] = {"timestamp", "a", "b", "prompt_tokens", "\"m", NULL};
  CHECK_STR(described(names, "timestamp=a, prompt=b,model=m"), "timestamp=a, prompt=b, model=m");
  CHECK_STR(described(names, "output=timestamp,timestamp=a"),
            "timestamp=a, prompt=prompt_tokens, output=timestamp");
  CHECK_STR(described(names, ""), "timestamp=timestamp, prompt=prompt_tokens");
  CHECK_CONTAINS(described(names, "timestamp"), "invalid value 'timestamp': expected ROLE=COLUMN");
  CHECK_CONTAINS(described(names, "=a"), "expected ROLE=COLUMN");
  CHECK_CONTAINS(described(names, "prompt="), "expected ROLE=COLUMN");
  CHECK_CONTAINS(described(names, "promt=a"), "did you mean 'prompt'");
  CHECK_CONTAINS(described(names, "prompt=a,prompt=b"), "prompt is given twice");
  CHECK_CONTAINS(described(names, "prompt=c"),
                 "t.csv has no column 'c'; its columns are timestamp");
}

static void missing_roles_are_found(void) {
  static const char *const names[] = {"timestamp", "prompt_tokens", NULL};
  blis__column columns[MANY];
  blis__mapping map;
  size_t count = make(columns, names);
  CHECK_OK(blis__columns_map(columns, count, NULL, "t", &map, &error), &error);
  CHECK_EQ_I64(blis__columns_missing(&map), BLIS__ROLE_OUTPUT);
  CHECK_OK(blis__columns_map(columns, 1, NULL, "t", &map, &error), &error);
  CHECK_EQ_I64(blis__columns_missing(&map), BLIS__ROLE_PROMPT);
  CHECK_OK(blis__columns_map(columns, 0, NULL, "t", &map, &error), &error);
  CHECK_EQ_I64(blis__columns_missing(&map), BLIS__ROLE_TIMESTAMP);
}

static void names_state_units(void) {
  static const struct {
    const char *name;
    double us;
  } cases[] = {{"arrival_ms", 1e3},
               {"Arrival (ms)", 1e3},
               {"start_time_us", 1},
               {"startTimeUnixNano", 1e-3},
               {"time_s", 1e6},
               {"timestamps", 0},
               {"ms", 0},
               {"", 0},
               {"t_seconds", 1e6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(blis__columns_unit(cases[i].name) == cases[i].us);
  }
}

static void lists_are_cut(void) {
  static const char *const names[] = {"aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", NULL};
  blis__column columns[MANY];
  char text[24];
  blis__columns_list(columns, make(columns, names), text, sizeof text);
  CHECK_STR(text, "aaaaaaaaaa, ...");
  blis__columns_list(columns, 1, text, sizeof text);
  CHECK_STR(text, "aaaaaaaaaa");
}

int main(void) {
  RUN(names_have_roles);
  RUN(the_user_decides);
  RUN(missing_roles_are_found);
  RUN(names_state_units);
  RUN(lists_are_cut);
  return check_done();
}
