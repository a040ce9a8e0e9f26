#include "base/format/json.h"

#include <float.h>
#include <stdbool.h>

#include "check.h"
#include "temp_file.h"

static void parse(blis_json *json, const char *text) {
  const blis_alloc alloc = blis_alloc_heap();
  blis_error error;
  blis_json_init(json, &alloc);
  CHECK_OK(blis_json_parse(json, "t.json", 7, blis_slice_of(text), &error), &error);
}

static void values_have_types(void) {
  blis_json json;
  parse(&json, " {\"n\": null, \"b\": true, \"i\": 9223372036854775807,\n"
               " \"r\": 1.5, \"t\": \"a\\u00e9\\n\", \"a\": [1, [2]], \"o\": "
               "{}}\n");
  blis_json_value root = blis_json_root(&json);
  static const struct {
    const char *key;
    blis_json_type type;
    bool has;
  } cases[] = {{"n", BLIS_JSON_NULL, false},   {"b", BLIS_JSON_BOOL, true},
               {"i", BLIS_JSON_INTEGER, true}, {"r", BLIS_JSON_REAL, true},
               {"t", BLIS_JSON_TEXT, true},    {"a", BLIS_JSON_ARRAY, true},
               {"o", BLIS_JSON_OBJECT, true},  {"x", BLIS_JSON_MISSING, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_json_value value = blis_json_member(root, cases[i].key);
    CHECK(blis_json_type_of(value) == cases[i].type);
    CHECK(blis_json_has(value) == cases[i].has);
  }
  int64_t whole;
  double real;
  bool flag;
  blis_slice text;
  blis_error error;
  CHECK_OK(blis_json_int64(blis_json_member(root, "i"), 0, INT64_MAX, &whole, &error), &error);
  CHECK_OK(blis_json_double(blis_json_member(root, "r"), 1.5, 1.5, &real, &error), &error);
  CHECK_OK(blis_json_bool(blis_json_member(root, "b"), &flag, &error), &error);
  CHECK_OK(blis_json_text(blis_json_member(root, "t"), &text, &error), &error);
  CHECK(whole == INT64_MAX && real == 1.5 && flag);
  CHECK(blis_slice_equals(text, "a\xc3\xa9\n"));
  blis_json_deinit(&json);
}

static void integers_and_reals_meet(void) {
  blis_json json;
  parse(&json, "[3, 3.0, -2e3, 9007199254740992.0, 1e300]");
  static const int64_t expected[] = {3, 3, -2000, 9007199254740992};
  blis_json_value root = blis_json_root(&json);
  int64_t whole;
  double real;
  blis_error error;
  for (size_t i = 0; i < 4; i++) {
    blis_json_value item = blis_json_item(root, i);
    CHECK_OK(blis_json_int64(item, INT64_MIN, INT64_MAX, &whole, &error), &error);
    CHECK_EQ_I64(whole, expected[i]);
    CHECK_OK(blis_json_double(item, -DBL_MAX, DBL_MAX, &real, &error), &error);
    CHECK(real == (double)expected[i]);
  }
  CHECK_STATUS(blis_json_int64(blis_json_item(root, 4), 0, INT64_MAX, &whole, &error),
               BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t.json:7: item 5: 1e+300 is not a whole number");
  blis_json_deinit(&json);
}

static void members_and_items_keep_their_order(void) {
  blis_json json;
  parse(&json, "{\"z\": 1, \"a\": 2, \"m\": [5, 6, 7], \"\": 4}");
  blis_json_value root = blis_json_root(&json);
  CHECK_EQ_I64(blis_json_count(root), 4);
  static const char *const keys[] = {"z", "a", "m", ""};
  const char *key = NULL;
  blis_json_value member;
  for (size_t i = 0; i < 4; i++) {
    CHECK(blis_json_next(root, &key, &member));
    CHECK_STR(key, keys[i]);
    CHECK(member.node == blis_json_member(root, keys[i]).node);
  }
  CHECK(!blis_json_next(root, &key, &member));
  blis_json_value array = blis_json_member(root, "m");
  CHECK_EQ_I64(blis_json_count(array), 3);
  int64_t whole;
  CHECK(blis_json_int64(blis_json_item(array, 2), 7, 7, &whole, NULL) == BLIS_OK);
  CHECK(blis_json_type_of(blis_json_item(array, 3)) == BLIS_JSON_MISSING);
  CHECK(blis_json_type_of(blis_json_item(root, 0)) == BLIS_JSON_MISSING);
  CHECK(!blis_json_next(array, &key, &member));
  CHECK_EQ_I64(blis_json_count(blis_json_item(array, 0)), 0);
  blis_json_deinit(&json);
}

static void wrong_values_are_named(void) {
  blis_json json;
  parse(&json, "{\"t\": \"abc\", \"n\": 3.25, \"b\": true, \"a\": [1, {}], "
               "\"i\": -4, \"z\": null}");
  blis_json_value root = blis_json_root(&json);
  blis_error error;
  int64_t whole = 99;
  double real = 99;
  bool flag = true;
  blis_slice text;
#define FAILS(call, expected)                                                                      \
  (CHECK_STATUS(call, BLIS_ERR_PARSE), CHECK_STR(error.message, expected))
#define MEMBER(key) blis_json_member(root, key)
  FAILS(blis_json_int64(MEMBER("t"), 0, 1, &whole, &error),
        "t.json:7: key 't': 'abc' is not a whole number");
  FAILS(blis_json_int64(MEMBER("n"), 0, 1, &whole, &error),
        "t.json:7: key 'n': 3.25 is not a whole number");
  FAILS(blis_json_int64(MEMBER("i"), 0, INT64_MAX, &whole, &error),
        "t.json:7: key 'i': -4 is not allowed, expected 0 or more");
  FAILS(blis_json_double(MEMBER("n"), 0, 1, &real, &error),
        "t.json:7: key 'n': 3.25 is not allowed, expected 0 to 1");
  FAILS(blis_json_double(MEMBER("b"), 0, 1, &real, &error),
        "t.json:7: key 'b': true is not a number");
  FAILS(blis_json_bool(MEMBER("z"), &flag, &error),
        "t.json:7: key 'z': null is neither true nor false");
  FAILS(blis_json_text(MEMBER("a"), &text, &error), "t.json:7: key 'a': an array is not a string");
  FAILS(blis_json_text(MEMBER("x"), &text, &error), "t.json:7: key 'x': is missing");
  FAILS(blis_json_int64(blis_json_item(MEMBER("a"), 1), 0, 1, &whole, &error),
        "t.json:7: key 'a': item 2: an object is not a whole number");
  FAILS(blis_json_need_array(root, &error), "t.json:7: an object is not an array");
  FAILS(blis_json_need_object(MEMBER("t"), &error), "t.json:7: key 't': 'abc' is not an object");
#undef FAILS
#undef MEMBER
  CHECK(whole == 99 && real == 99 && flag);
  blis_json_deinit(&json);
}

static void broken_texts_are_errors(void) {
  static const struct {
    const char *text;
    const char *message;
  } cases[] = {
      {"", "t.json:7: column 0: "},
      {"{", "t.json:7: column 1: "},
      {"{\n\"a\": 1,\n}", "t.json:9: column 1: "},
      {"{\"a\": 1, \"a\": 2}", "duplicate object key"},
      {"[1] 2", "end of file expected"},
      {"[01]", "t.json:7: column "},
      {"[nan]", "t.json:7: column "},
      {"[1e999]", "real number overflow"},
      {"[9223372036854775808]", "too big integer"},
      {"\"\xff\"", "unable to decode byte 0xff"},
      {"\"\\u0000\"", "t.json:7: column "},
      {"'a'", "t.json:7: column "},
  };
  blis_json json;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_error error;
    parse(&json, "[1]");
    CHECK_STATUS(blis_json_parse(&json, "t.json", 7, blis_slice_of(cases[i].text), &error),
                 BLIS_ERR_PARSE);
    CHECK_CONTAINS(error.message, cases[i].message);
    CHECK(blis_json_type_of(blis_json_root(&json)) == BLIS_JSON_MISSING);
    blis_json_deinit(&json);
  }
}

static void depth_has_a_limit(void) {
  static char text[200000];
  memset(text, '[', sizeof text);
  const blis_alloc alloc = blis_alloc_heap();
  blis_json json;
  blis_error error;
  blis_json_init(&json, &alloc);
  CHECK_STATUS(blis_json_parse(&json, "t.json", 1, (blis_slice){text, sizeof text}, &error),
               BLIS_ERR_PARSE);
  blis_json_deinit(&json);
  CHECK_CONTAINS(error.message, "maximum parsing depth reached");
}

static void scalars_are_texts_too(void) {
  blis_json json;
  parse(&json, " 42 ");
  int64_t whole;
  CHECK(blis_json_int64(blis_json_root(&json), 0, 50, &whole, NULL) == BLIS_OK);
  blis_json_deinit(&json);
}

static void files_are_read(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_json json;
  blis_error error;
  blis_json_init(&json, &alloc);
  CHECK_STATUS(blis_json_read_file(&json, "no/such.json", 100, &error), BLIS_ERR_IO);
  const char *path = temp_file("list.json", "[1,\n2]\n");
  CHECK_OK(blis_json_read_file(&json, path, 100, &error), &error);
  CHECK_EQ_I64(blis_json_count(blis_json_root(&json)), 2);
  CHECK_STATUS(blis_json_read_file(&json, path, 5, &error), BLIS_ERR_INVALID);
  blis_json_deinit(&json);
}

int main(void) {
  RUN(values_have_types);
  RUN(integers_and_reals_meet);
  RUN(members_and_items_keep_their_order);
  RUN(wrong_values_are_named);
  RUN(broken_texts_are_errors);
  RUN(depth_has_a_limit);
  RUN(scalars_are_texts_too);
  RUN(files_are_read);
  return check_done();
}
