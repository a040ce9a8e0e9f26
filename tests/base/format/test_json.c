#include "base/format/json.h"

#include <float.h>
#include <math.h>
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
  CHECK_STR(error.message, "t.json:7: item 5: 1e+300 is out of range");
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
        "t.json:7: key 'i': invalid value -4: expected 0 or more");
  FAILS(blis_json_double(MEMBER("n"), 0, 1, &real, &error),
        "t.json:7: key 'n': invalid value 3.25: expected 0 to 1");
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

/* Fails unless the text has exactly this error. */
static void check_error(blis_json *json, const char *text, const char *message) {
  blis_error error;
  CHECK_STATUS(blis_json_parse(json, "t", 7, blis_slice_of(text), &error), BLIS_ERR_PARSE);
  CHECK_STR(error.message, message);
  CHECK(blis_json_type_of(blis_json_root(json)) == BLIS_JSON_MISSING);
}

static void errors_name_place_and_expectation(void) {
  static const char *const cases[][2] = {
      {"", "t:7: column 1: unexpected end of text; expected a value"},
      {"{", "t:7: column 2: unexpected end of text; expected a key in double quotes"},
      {"[1,", "t:7: column 4: unexpected end of text; expected a value"},
      {"[1", "t:7: column 3: unexpected end of text; expected ',' or ']'"},
      {"{\n\"a\": 1,\n}", "t:9: column 1: unexpected '}'; expected a key in double quotes"},
      {"{'a': 1}", "t:7: column 2: unexpected '''; expected a key in double quotes"},
      {"{\"a\" 1}", "t:7: column 6: unexpected '1'; expected ':' after the key"},
      {"{\"a\": 1 \"b\": 2}", "t:7: column 9: unexpected '\"'; expected ',' or '}'"},
      {"{\"\xc3\xa9\": tru}", "t:7: column 7: unexpected 'tru'; expected a value"},
      {"[1] 2", "t:7: column 5: unexpected '2'; expected the end of the text"},
      {"[1,]", "t:7: column 4: unexpected ']'; expected a value"},
      {"[nan]", "t:7: column 2: unexpected 'nan'; expected a value"},
      {"[NaN]", "t:7: column 2: unexpected 'NaN'; expected a finite number"},
      {"[-Infinity]", "t:7: column 2: unexpected '-Infinity'; expected a finite number"},
      {"[-Inf]", "t:7: column 2: unexpected '-Inf'; expected a value"},
      {"[01]", "t:7: column 2: invalid number '01'; expected no leading zeros"},
      {"[-]", "t:7: column 2: invalid number '-'; expected a digit after the minus sign"},
      {"[+1]", "t:7: column 2: unexpected '+1'; expected a value"},
      {"[1.]", "t:7: column 2: invalid number '1.'; expected a digit after the point"},
      {"[1e+]", "t:7: column 2: invalid number '1e+'; expected a digit in the exponent"},
      {"[1e999]", "t:7: column 2: number '1e999' is out of range; expected "
                  "-1.7976931348623157e+308 to 1.7976931348623157e+308"},
      {"9223372036854775808", "t:7: column 1: integer '9223372036854775808' is out of range; "
                              "expected -9223372036854775808 to 9223372036854775807"},
      {"\"ab", "t:7: column 1: the string does not end; expected '\"' after it"},
      {"\"ab\\", "t:7: column 1: the string does not end; expected '\"' after it"},
      {"\"a\nb\"", "t:7: column 3: control character 0x0a in a string; "
                   "expected an escape: \\u000a"},
      {"\"\xff\"", "t:7: column 2: invalid byte 0xff; expected UTF-8"},
      {"\"a\\x41\"", "t:7: column 3: invalid escape '\\x'; "
                     "expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX"},
      {"\"\\u12g4\"", "t:7: column 2: invalid escape '\\u12g4'; "
                      "expected four hexadecimal digits"},
      {"\"\\u0000\"", "t:7: column 2: invalid escape '\\u0000'; "
                      "expected a character other than zero"},
      {"\"\\ud83d!\"", "t:7: column 2: invalid escape '\\ud83d!\"'; "
                       "expected a surrogate pair such as \\ud83d\\ude00"},
      {"{\"a\": 1,\n \"b\": 2, \"a\": 3}", "t:8: column 10: duplicate key 'a'; "
                                           "expected each key once"},
  };
  blis_json json;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    parse(&json, "[1]");
    check_error(&json, cases[i][0], cases[i][1]);
    blis_json_deinit(&json);
  }
}

static void zero_bytes_are_errors(void) {
  static const char text[] = "[1\0]";
  blis_error error;
  blis_json json;
  parse(&json, "1");
  CHECK_STATUS(blis_json_parse(&json, "t", 1, (blis_slice){text, sizeof text - 1}, &error),
               BLIS_ERR_PARSE);
  CHECK_STR(error.message, "t:1: column 3: unexpected '\\x00'; expected ',' or ']'");
  blis_json_deinit(&json);
}

/* Objects of more than a few members find them by sorting. */
static void duplicate_keys_of_large_objects_are_errors(void) {
  blis_json json;
  parse(&json, "1");
  check_error(&json,
              "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,"
              "\"k\":0,\"l\":0,\"m\":0,\"n\":0,\"o\":0,\"p\":0,\"q\":0,\"\\u0063\":0}",
              "t:7: column 104: duplicate key 'c'; expected each key once");
  blis_json_deinit(&json);
}

static void depth_has_a_limit(void) {
  static char text[200000];
  memset(text, '[', sizeof text);
  const blis_alloc alloc = blis_alloc_heap();
  blis_json json;
  blis_error error;
  blis_json_init(&json, &alloc);
  CHECK_STATUS(blis_json_parse(&json, "t", 1, (blis_slice){text, sizeof text}, &error),
               BLIS_ERR_PARSE);
  blis_json_deinit(&json);
  CHECK_STR(error.message, "t:1: column 2049: arrays and objects are nested too deeply; "
                           "expected at most 2048 levels");
}

/* They are values that no conversion accepts. */
static void numbers_that_are_not_finite_can_be_allowed(void) {
  static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
  blis_json json;
  blis_error error;
  int64_t whole = 99;
  double real = 99;
  parse(&json, "0");
  blis_json_allow_any_number(&json);
  CHECK_OK(blis_json_parse(&json, "t", 7, blis_slice_of("[NaN, Infinity, -Infinity, -1]"), &error),
           &error);
  blis_json_value root = blis_json_root(&json);
  CHECK_EQ_I64(blis_json_count(root), 4);
  for (size_t i = 0; i < 3; i++) {
    char message[80];
    blis_json_value item = blis_json_item(root, i);
    CHECK(blis_json_type_of(item) == BLIS_JSON_REAL);
    snprintf(message, sizeof message, "t:7: item %zu: %s is not a finite number", i + 1, words[i]);
    CHECK_STATUS(blis_json_double(item, -HUGE_VAL, HUGE_VAL, &real, &error), BLIS_ERR_PARSE);
    CHECK_STR(error.message, message);
    snprintf(message, sizeof message, "t:7: item %zu: %s is not a whole number", i + 1, words[i]);
    CHECK_STATUS(blis_json_int64(item, INT64_MIN, INT64_MAX, &whole, &error), BLIS_ERR_PARSE);
    CHECK_STR(error.message, message);
  }
  CHECK(whole == 99 && real == 99);
  check_error(&json, "[-Infinit]", "t:7: column 2: unexpected '-Infinit'; expected a value");
  check_error(&json, "[NaN", "t:7: column 5: unexpected end of text; expected ',' or ']'");
  blis_json_deinit(&json);
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
  RUN(errors_name_place_and_expectation);
  RUN(zero_bytes_are_errors);
  RUN(duplicate_keys_of_large_objects_are_errors);
  RUN(depth_has_a_limit);
  RUN(numbers_that_are_not_finite_can_be_allowed);
  RUN(scalars_are_texts_too);
  RUN(files_are_read);
  return check_done();
}
