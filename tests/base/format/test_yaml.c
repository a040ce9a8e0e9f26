#include "base/format/yaml.h"

#include <math.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/random.h"
#include "check.h"
#include "temp_file.h"

static blis_yaml *parse(const char *text) {
  blis_alloc alloc = blis_alloc_heap();
  blis_yaml *yaml;
  blis_error error;
  CHECK_OK(blis_yaml_parse(&alloc, "s.yaml", blis_slice_of(text), &yaml, &error), &error);
  return yaml;
}

/* A tree as text: {key=value}, [item], scalars as they stand. */
static void show(const blis_yaml_node *node, blis_buffer *shown) {
  bool is_mapping = blis_yaml_type_of(node) == BLIS_YAML_MAPPING;
  if (blis_yaml_type_of(node) == BLIS_YAML_SCALAR) {
    blis_slice text = blis_yaml_scalar(node);
    blis_buffer_bytes(shown, text.data, text.length);
    return;
  }
  blis_buffer_char(shown, is_mapping ? '{' : '[');
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    blis_buffer_string(shown, i > 0 ? "," : "");
    if (is_mapping) {
      show(blis_yaml_key(node, i), shown);
      blis_buffer_char(shown, '=');
    }
    show(blis_yaml_item(node, i), shown);
  }
  blis_buffer_char(shown, is_mapping ? '}' : ']');
}

static void trees_are_built(void) {
  static const struct {
    const char *text;
    const char *tree;
  } cases[] = {
      {"a", "a"},
      {"---\n...\n", ""},
      {"- 1\n- [2, 3]\n- {a: b}\n", "[1,[2,3],{a=b}]"},
      {"a: 1\nb:\n  - x\n  - y: z\n    w: \"q r\"\n", "{a=1,b=[x,{y=z,w=q r}]}"},
      {"a: # note\n  b: 'it''s'\nc: |\n  two\n  lines\n", "{a={b=it's},c=two\nlines\n}"},
      {"# no\n---\nfirst: 1\n...\n# more\n", "{first=1}"},
      {"x: &a [1, 2]\ny: *a\nz: [*a, *a]\n", "{x=[1,2],y=[1,2],z=[[1,2],[1,2]]}"},
      {"x: &a 1\ny: &a 2\nz: *a\n", "{x=1,y=2,z=2}"},
      {"base: &b {m: 1, n: 2}\nuse:\n  <<: *b\n  n: 3\n", "{base={m=1,n=2},use={n=3,m=1}}"},
      {"- &p {a: 1, b: 1}\n- &q {b: 2, c: 2}\n- <<: [*p, *q]\n  d: 0\n",
       "[{a=1,b=1},{b=2,c=2},{d=0,a=1,b=1,c=2}]"},
      {"- &p {a: 1}\n- &q {<<: *p, b: 2}\n- {<<: *q}\n", "[{a=1},{b=2,a=1},{b=2,a=1}]"},
      {"a: {k: 1}\nb: {k: 2}\nk: 3\n", "{a={k=1},b={k=2},k=3}"},
      {"a: !!str 5\nb: !!int 6\nc: ! 7\nd: !!map {}\n", "{a=5,b=6,c=7,d={}}"},
      {"\xef\xbb\xbfk: v\r\n", "{k=v}"},
  };
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer shown;
  blis_buffer_init(&shown, &alloc);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_yaml *yaml = parse(cases[i].text);
    blis_buffer_clear(&shown);
    show(blis_yaml_root(yaml), &shown);
    CHECK_STR(blis_buffer_text(&shown), cases[i].tree);
    blis_yaml_free(yaml);
  }
  blis_buffer_deinit(&shown);
}

static void check_error(const char *text, const char *message) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_yaml *yaml;
  blis_error error;
  CHECK_STATUS(blis_yaml_parse(&alloc, "s.yaml", blis_slice_of(text), &yaml, &error),
               BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, message);
  CHECK(memory.live_bytes == 0);
}

static void broken_texts_are_errors(void) {
  static const struct {
    const char *text;
    const char *message;
  } cases[] = {
      {"", "s.yaml: is empty"},
      {"# nothing\n\n", "s.yaml: is empty"},
      {"a: 1\nb: [1, 2\nc: 3\n", "s.yaml:3: "},
      {"a: 1\n\tb: 2\n", "s.yaml:2: "},
      {"a: b: c\n", "s.yaml:1: mapping values are not allowed"},
      {"a: 1\nb: 2\n'a': 3\n", "s.yaml:3: key 'a' is given twice, first in line 1"},
      {"x:\n  - rate: 1\n    rate: 2\n", "s.yaml:3: key 'rate' is given twice, first in line 2"},
      {"? [1, 2]\n: x\n", "s.yaml:1: a key must be a single value"},
      {"a: *nowhere\n", "s.yaml:1: no anchor 'nowhere' before this alias"},
      {"a: &x [1, *x]\n", "s.yaml:1: the alias 'x' is inside the value it refers to"},
      {"a: !color red\n", "s.yaml:1: unknown tag '!color'"},
      {"a: !!binary aGk=\n", "s.yaml:1: unknown tag 'tag:yaml.org,2002:bin"},
      {"x: 1\ny:\n  <<: 5\n", "s.yaml:3: '<<' needs a mapping or a list of mappings"},
      {"y: {<<: [{a: 1}, 2]}\n", "s.yaml:1: '<<' needs a mapping or a list"},
      {"a: \xff\n", "s.yaml: byte 3: "},
      {"a: \"\\q\"\n", "s.yaml:1: "},
      {"first: 1\n---\nsecond: [\n",
       "s.yaml:2: a second document begins here; a file may have one"},
      {"- 1\n---\n", "s.yaml:2: a second document begins here"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_error(cases[i].text, cases[i].message);
  }
}

static void depth_has_a_limit(void) {
  char text[512];
  for (size_t depth = 99; depth <= 101; depth++) {
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = '\0';
    if (depth <= 100) {
      blis_yaml_free(parse(text));
    } else {
      check_error(text, "s.yaml:1: nested more than 100 levels deep");
    }
  }
  static char deep[100001];
  memset(deep, '[', sizeof deep - 1);
  check_error(deep, "s.yaml:1: nested more than 100 levels deep");
}

/* Each line doubles the one before, or adds a level to it. */
static void aliases_cannot_explode(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer text;
  blis_buffer_init(&text, &alloc);
  blis_buffer_string(&text, "- &a0 [x, x]\n");
  for (int i = 1; i < 40; i++) {
    blis_buffer_format(&text, "- &a%d [*a%d, *a%d]\n", i, i - 1, i - 1);
  }
  check_error(blis_buffer_text(&text), "repeat more than 1000000 values");
  blis_buffer_clear(&text);
  blis_buffer_string(&text, "- &a0 [x]\n");
  for (int i = 1; i < 200; i++) {
    blis_buffer_format(&text, "- &a%d [*a%d]\n", i, i - 1);
  }
  check_error(blis_buffer_text(&text),
              "s.yaml:100: nested more than 100 levels deep through aliases");
  blis_buffer_clear(&text);
  blis_buffer_string(&text, "- &a\n");
  for (int i = 0; i < 2000; i++) {
    blis_buffer_format(&text, "  k%d: 1\n", i);
  }
  for (int i = 0; i < 600; i++) {
    blis_buffer_string(&text, "- <<: *a\n");
  }
  check_error(blis_buffer_text(&text), "repeat more than 1000000 values");
  blis_buffer_deinit(&text);
}

static void integers_follow_go_yaml_but_fractions(void) {
  static const struct {
    const char *text;
    bool is_valid;
    int64_t value;
  } cases[] = {
      {"42", true, 42},
      {"-7", true, -7},
      {"+7", true, 7},
      {"3.7", false, 0},
      {"-3.7", false, 0},
      {"-3.0", true, -3},
      {"1e1", true, 10},
      {"1_000", true, 1000},
      {"0x1F", true, 31},
      {"-0x1f", true, -31},
      {"0o17", true, 15},
      {"017", true, 15},
      {"0b101", true, 5},
      {"08", true, 8},
      {"0", true, 0},
      {".5", false, 0},
      {"5.", true, 5},
      {"9223372036854775807", true, INT64_MAX},
      {"-9223372036854775808", true, INT64_MIN},
      {"9223372036854775808", false, 0},
      {"1e19", false, 0},
      {".inf", false, 0},
      {".nan", false, 0},
      {"\"5\"", false, 0},
      {"'5'", false, 0},
      {"!!str 5", false, 0},
      {"abc", false, 0},
      {"0xg", false, 0},
      {"1 2", false, 0},
      {"true", false, 0},
      {"~", false, 0},
      {"[1]", false, 0},
      {"2001-01-01", false, 0},
      {"-", false, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[64];
    snprintf(text, sizeof text, "k: %s\n", cases[i].text);
    if (strcmp(cases[i].text, "-") == 0) {
      snprintf(text, sizeof text, "k: '-'\n");
    }
    blis_yaml *yaml = parse(text);
    const blis_yaml_node *node = blis_yaml_item(blis_yaml_root(yaml), 0);
    int64_t value = 99;
    blis_status status = blis_yaml_int64(node, INT64_MIN, INT64_MAX, &value, NULL);
    CHECK_STATUS(status, cases[i].is_valid ? BLIS_OK : BLIS_ERR_PARSE);
    CHECK_EQ_I64(value, cases[i].is_valid ? cases[i].value : 99);
    blis_yaml_free(yaml);
  }
}

static void other_scalars_follow_go_yaml(void) {
  blis_yaml *yaml = parse("- [1.5, 2, 1_0.5, 1e3, 0x10, -.5, .inf]\n"
                          "- [true, True, yes, Yes, on, ON, y]\n"
                          "- [false, FALSE, no, off, n]\n"
                          "- [2, abc, 'null', true, \"\", 1.50]\n"
                          "- [~, null, Null, ]\n");
  static const double reals[] = {1.5, 2, 10.5, 1000, 16, -0.5, (double)INFINITY};
  static const char *const texts[] = {"2", "abc", "null", "true", "", "1.50"};
  const blis_yaml_node *root = blis_yaml_root(yaml);
  blis_error error;
  for (size_t i = 0; i < 7; i++) {
    double real;
    bool flag = false;
    CHECK_OK(blis_yaml_double(blis_yaml_item(blis_yaml_item(root, 0), i), -1, (double)INFINITY,
                              &real, &error),
             &error);
    CHECK(real == reals[i]);
    CHECK_OK(blis_yaml_bool(blis_yaml_item(blis_yaml_item(root, 1), i), &flag, &error), &error);
    CHECK(flag);
  }
  for (size_t i = 0; i < 5; i++) {
    bool flag = true;
    CHECK_OK(blis_yaml_bool(blis_yaml_item(blis_yaml_item(root, 2), i), &flag, &error), &error);
    CHECK(!flag);
  }
  for (size_t i = 0; i < 6; i++) {
    blis_slice text;
    CHECK_OK(blis_yaml_text(blis_yaml_item(blis_yaml_item(root, 3), i), &text, &error), &error);
    CHECK(blis_slice_equals(text, texts[i]));
  }
  const blis_yaml_node *nulls = blis_yaml_item(root, 4);
  for (size_t i = 0; i < blis_yaml_count(nulls); i++) {
    CHECK(blis_yaml_is_null(blis_yaml_item(nulls, i)));
  }
  blis_yaml_free(yaml);
}

static void scalars_have_a_kind_of_their_own(void) {
  static const blis_yaml_kind kinds[] = {BLIS_YAML_IS_NULL,    BLIS_YAML_IS_BOOL, BLIS_YAML_IS_TEXT,
                                         BLIS_YAML_IS_INTEGER, BLIS_YAML_IS_REAL, BLIS_YAML_IS_TEXT,
                                         BLIS_YAML_IS_TEXT};
  blis_yaml *yaml = parse("[null, TRUE, yes, 0x10, 1.0, '1', abc]");
  for (size_t i = 0; i < 7; i++) {
    const blis_yaml_node *node = blis_yaml_item(blis_yaml_root(yaml), i);
    CHECK(blis_yaml_kind_of(node) == kinds[i]);
  }
  blis_yaml_free(yaml);
}

static void wrong_values_are_named(void) {
  blis_yaml *yaml = parse("rate: fast\n"
                          "count: \"5\"\n"
                          "list:\n"
                          "  - 1\n"
                          "  - x\n"
                          "nothing:\n"
                          "map: {inner: -2}\n");
  const blis_yaml_node *root = blis_yaml_root(yaml);
  blis_error error;
  int64_t whole = 99;
  double real = 99;
  bool flag = true;
  blis_slice text;
#define FAILS(call, expected)                                                                      \
  (CHECK_STATUS(call, BLIS_ERR_PARSE), CHECK_STR(error.message, expected))
#define GET(key) blis_yaml_get(root, key)
  FAILS(blis_yaml_double(GET("rate"), 0, 1, &real, &error),
        "s.yaml:1: key 'rate': 'fast' is not a number");
  FAILS(blis_yaml_int64(GET("count"), 0, 9, &whole, &error),
        "s.yaml:2: key 'count': '5' in quotes is not a whole number");
  FAILS(blis_yaml_int64(blis_yaml_item(GET("list"), 1), 0, 9, &whole, &error),
        "s.yaml:5: key 'list': item 2: 'x' is not a whole number");
  FAILS(blis_yaml_int64(blis_yaml_get(GET("map"), "inner"), 0, INT64_MAX, &whole, &error),
        "s.yaml:7: key 'inner': invalid value '-2': expected 0 or more");
  FAILS(blis_yaml_bool(GET("rate"), &flag, &error),
        "s.yaml:1: key 'rate': 'fast' is not a boolean (true or false)");
  FAILS(blis_yaml_text(GET("map"), &text, &error),
        "s.yaml:7: key 'map': a mapping is not a string");
  FAILS(blis_yaml_text(blis_yaml_item(root, 3), &text, &error),
        "s.yaml:6: key 'nothing': null is not a string");
  FAILS(blis_yaml_need_mapping(GET("list"), &error),
        "s.yaml:4: key 'list': a list is not a mapping");
  FAILS(blis_yaml_need_sequence(root, &error), "s.yaml:1: a mapping is not a list");
#undef FAILS
#undef GET
  CHECK(whole == 99 && real == 99 && flag);
  CHECK(blis_yaml_get(root, "nothing") == NULL);
  CHECK(blis_yaml_get(root, "absent") == NULL);
  CHECK(blis_yaml_get(blis_yaml_item(root, 0), "rate") == NULL);
  CHECK_EQ_I64(blis_yaml_line(blis_yaml_key(root, 4)), 7);
  CHECK_STR(blis_yaml_file(root), "s.yaml");
  blis_yaml_free(yaml);
}

/* Random bytes of YAML's own alphabet: an answer, and no crash. */
static void any_text_gets_an_answer(void) {
  static const char *const pieces[] = {"a",  ": ", "- ", "\n",     "  ", "[",  "]",
                                       "{",  "}",  ", ", "&x ",    "*x", "<<", "'",
                                       "\"", "#",  "|",  "!!str ", "? ", "1"};
  blis_random random;
  blis_random_init(&random, 67);
  int valid_count = 0;
  for (int round = 0; round < 20000; round++) {
    char text[256] = "";
    int32_t count = blis_random_intn(&random, 30);
    for (int32_t i = 0; i < count; i++) {
      strcat(text, pieces[blis_random_intn(&random, sizeof pieces / sizeof *pieces)]);
    }
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_yaml *yaml;
    blis_status status = blis_yaml_parse(&alloc, "s.yaml", blis_slice_of(text), &yaml, NULL);
    CHECK(status == BLIS_OK || status == BLIS_ERR_PARSE);
    if (status == BLIS_OK) {
      valid_count++;
      blis_buffer shown;
      blis_buffer_init(&shown, &alloc);
      show(blis_yaml_root(yaml), &shown);
      blis_buffer_deinit(&shown);
      blis_yaml_free(yaml);
    }
    CHECK(memory.live_bytes == 0);
  }
  CHECK(valid_count > 1000);
}

static bool parse_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_buffer text;
  blis_alloc heap = blis_alloc_heap();
  blis_buffer_init(&text, &heap);
  for (int i = 0; i < 60; i++) {
    blis_buffer_format(&text, "k%d: &a%d [x, {y: z}]\nm%d: {<<: {b: 1}}\n", i, i, i);
  }
  blis_yaml *yaml;
  blis_error error;
  blis_status status = blis_yaml_parse(&alloc, "s.yaml", blis_buffer_slice(&text), &yaml, &error);
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  if (status == BLIS_OK) {
    blis_yaml_free(yaml);
  }
  blis_buffer_deinit(&text);
  CHECK(memory.live_bytes == 0);
  return status == BLIS_OK;
}

static void no_memory_is_reported(void) {
  long request = 1;
  while (!parse_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 20);
  blis_yaml_free(NULL);
}

static void files_are_read(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_yaml *yaml;
  blis_error error;
  CHECK_STATUS(blis_yaml_read_file(&alloc, "no/such.yaml", 100, &yaml, &error), BLIS_ERR_IO);
  const char *path = temp_file("one.yaml", "a: 1\n");
  CHECK_OK(blis_yaml_read_file(&alloc, path, 100, &yaml, &error), &error);
  CHECK_STR(blis_yaml_file(blis_yaml_root(yaml)), path);
  CHECK(blis_yaml_get(blis_yaml_root(yaml), "a") != NULL);
  blis_yaml_free(yaml);
  CHECK_STATUS(blis_yaml_read_file(&alloc, path, 4, &yaml, &error), BLIS_ERR_INVALID);
}

int main(void) {
  RUN(trees_are_built);
  RUN(broken_texts_are_errors);
  RUN(depth_has_a_limit);
  RUN(aliases_cannot_explode);
  RUN(integers_follow_go_yaml_but_fractions);
  RUN(other_scalars_follow_go_yaml);
  RUN(scalars_have_a_kind_of_their_own);
  RUN(wrong_values_are_named);
  RUN(any_text_gets_an_answer);
  RUN(no_memory_is_reported);
  RUN(files_are_read);
  return check_done();
}
