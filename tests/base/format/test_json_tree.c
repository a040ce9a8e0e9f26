/*
 * The parser of JSON against the reference parser of json_reference.h, on random texts, valid and
 * broken, and the positions that its errors report.
 */
#include "base/format/json_tree.h"

#include "base/random.h"
#include "check.h"
#include "json_reference.h"

enum { TEXTS = 60000, FAULTS = 4, DEPTH = 4, LONG = 3000 };

static blis_alloc heap;
static blis_random rng;

static int below(int n) {
  return blis_random_intn(&rng, n);
}

#define PICK(list) list[below((int)(sizeof(list) / sizeof *(list)))]

/* Texts that a parser takes for a value, or that look like one. */

static const char *const numbers[] = {"0",
                                      "-0",
                                      "7",
                                      "12",
                                      "00",
                                      "01",
                                      "-",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "0.5",
                                      "-0.0",
                                      "1e5",
                                      "1E+5",
                                      "1e-5",
                                      "1e",
                                      "1e+",
                                      "1.5e3.2",
                                      "0x10",
                                      "1_0",
                                      "46.6805",
                                      "999999999999999999",
                                      "1000000000000000000",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "-9223372036854775808",
                                      "-9223372036854775809",
                                      "18446744073709551616",
                                      "99999999999999999999999999",
                                      "9007199254740993.0",
                                      "1e308",
                                      "1.7976931348623157e308",
                                      "1.7976931348623159e308",
                                      "1e309",
                                      "-1e999",
                                      "1e-400",
                                      "4.9e-324",
                                      "2.2250738585072011e-308",
                                      "0.1000000000000000055511151231257827021181583404541015625",
                                      "3.141592653589793238462643383279",
                                      "1e00000000000000000000001"};

static const char *const words[] = {
    "true",     "false",     "null", "True", "nul", "nulll", "truefalse",   "NaN",       "nan",
    "Infinity", "-Infinity", "-Inf", "-inf", "'a'", "\"",    "\\",          "undefined", "//",
    "[",        "]",         "{",    "}",    ",",   ":",     "\xef\xbb\xbf"};

static const char *const pieces[] = {"a",
                                     "0",
                                     " ",
                                     "/",
                                     "ts",
                                     "prompt_tokens",
                                     "a longer piece of text",
                                     "\x7f",
                                     "\\n",
                                     "\\\"",
                                     "\\\\",
                                     "\\/",
                                     "\\b\\f\\r\\t",
                                     "\\u0041",
                                     "\\u00e9",
                                     "\\u20AC",
                                     "\\ud83d\\ude00",
                                     "\\uFFFF",
                                     "\\ud800\\udc00",
                                     "\\udbff\\udfff",
                                     "\\ue000",
                                     "\xc3\xa9",
                                     "\xe2\x82\xac",
                                     "\xf0\x9f\x98\x80",
                                     "\xf4\x8f\xbf\xbf",
                                     "\xed\x9f\xbf",
                                     "\xc2\x80"};

static const char *const bad_pieces[] = {"\\u0000",
                                         "\\ud83d",
                                         "\\ud83dx",
                                         "\\ud83d\\n",
                                         "\\ud83d\\u0041",
                                         "\\ude00",
                                         "\\udc00\\udc00",
                                         "\\ud800\\udbff",
                                         "\\ud800\\ue000",
                                         "\\u12",
                                         "\\u12g4",
                                         "\\x41",
                                         "\\a",
                                         "\\",
                                         "\\U0041",
                                         "\x01",
                                         "\n",
                                         "\t",
                                         "\x1f",
                                         "\xff",
                                         "\xc0\x80",
                                         "\xc1\xbf",
                                         "\xe0\x9f\xbf",
                                         "\xed\xa0\x80",
                                         "\xf0\x8f\xbf\xbf",
                                         "\xf4\x90\x80\x80",
                                         "\xf5\x80\x80\x80",
                                         "\x80",
                                         "\xe2\x82",
                                         "\xc3",
                                         "\xf0\x9f\x98"};

static const char *const spaces[] = {"",   "",     "",         " ",  "  ", "\n",
                                     "\t", "\r\n", " \t\r\n ", "\f", "\v", "\xc2\xa0"};

/* One in thousand is a space of other kinds. */
static void add_space(blis_buffer *text) {
  blis_buffer_string(text, spaces[below(below(300) == 0 ? 12 : 9)]);
}

static void add_number(blis_buffer *text) {
  int kind = below(8);
  if (kind == 0) {
    blis_buffer_string(text, PICK(numbers));
  } else if (kind == 1) {
    blis_buffer_double(text, blis_random_normal(&rng), BLIS_DOUBLE_JSON);
  } else if (kind == 2) {
    blis_buffer_int64(text, (int64_t)blis_random_uint64(&rng));
  } else {
    blis_buffer_int64(text, blis_random_int63(&rng) >> below(63));
  }
}

static void add_text(blis_buffer *text) {
  blis_buffer_char(text, '"');
  for (int i = below(6); i > 0; i--) {
    blis_buffer_string(text, below(60) == 0 ? PICK(bad_pieces) : PICK(pieces));
  }
  blis_buffer_char(text, '"');
}

static void add_value(blis_buffer *text, int depth);

static void add_list(blis_buffer *text, bool is_object, int depth) {
  /* Many keys are sorted to find one given twice. */
  int count = below(20) == 0 ? 15 + below(20) : below(6);
  blis_buffer_char(text, is_object ? '{' : '[');
  add_space(text);
  for (int i = 0; i < count; i++) {
    if (i > 0) {
      blis_buffer_char(text, ',');
      add_space(text);
    }
    if (is_object) {
      if (below(3) == 0) {
        add_text(text);
      } else {
        blis_buffer_format(text, "\"key%d\"", below(400));
      }
      add_space(text);
      blis_buffer_char(text, ':');
      add_space(text);
    }
    add_value(text, depth + 1);
  }
  blis_buffer_char(text, is_object ? '}' : ']');
}

/* With space around it. */
static void add_value(blis_buffer *text, int depth) {
  int kind = below(12);
  add_space(text);
  if (kind < 2 && depth < DEPTH) {
    add_list(text, true, depth);
  } else if (kind < 4 && depth < DEPTH) {
    add_list(text, false, depth);
  } else if (kind < 6) {
    add_text(text);
  } else if (kind < 7) {
    blis_buffer_string(text, below(20) == 0 ? PICK(words) : words[below(3)]);
  } else {
    add_number(text);
  }
  add_space(text);
}

/* Changes some bytes, or cuts the text. */
static void break_text(blis_buffer *text) {
  static const char bytes[] = "{}[],:\"\\ 019.eE-+tfnu\x00\x80\xff";
  for (int i = below(FAULTS); i > 0 && text->length > 0; i--) {
    size_t at = (size_t)below((int)text->length);
    switch (below(3)) {
    case 0:
      text->length = at;
      break;
    case 1:
      text->data[at] = bytes[below(sizeof bytes - 1)];
      break;
    default:
      memmove(text->data + at, text->data + at + 1, --text->length - at);
    }
  }
}

/* The byte of a text at a line and a column, which both count from 1. */
static size_t offset_of(blis_slice text, long line, long column) {
  size_t at = 0;
  for (; line > 1; at++) {
    CHECK(at < text.length);
    line -= text.data[at] == '\n';
  }
  for (; column > 1; column--) {
    CHECK(at < text.length);
    unsigned char head = (unsigned char)text.data[at];
    at += head < 0xc0 ? 1 : head < 0xe0 ? 2 : head < 0xf0 ? 3 : 4;
  }
  return at;
}

/*
 * What comes before an unexpected token is the start of a valid text: without the token and its
 * rest, the text is complete, or the parser expects the same at its end.
 */
static void check_place(blis_json *json, blis_slice text) {
  blis_error error;
  long line = 0;
  long column = 0;
  CHECK_STATUS(blis_json_parse(json, "text", 1, text, &error), BLIS_ERR_PARSE);
  CHECK(sscanf(error.message, "text:%ld: column %ld: ", &line, &column) == 2);
  size_t at = offset_of(text, line, column);
  const char *expected = strstr(error.message, "; expected ");
  CHECK(expected != NULL);
  if (strstr(error.message, ": unexpected ") == NULL) {
    CHECK(at < text.length);
    return;
  }
  blis_error shorter;
  bool is_number = strcmp(expected, "; expected a finite number") == 0;
  blis_status status = blis_json_parse(json, "text", 1, (blis_slice){text.data, at}, &shorter);
  if (strcmp(expected, "; expected the end of the text") == 0) {
    CHECK_OK(status, &shorter);
    return;
  }
  CHECK_STATUS(status, BLIS_ERR_PARSE);
  CHECK_CONTAINS(shorter.message, "unexpected end of text; ");
  CHECK_STR(strstr(shorter.message, "; expected "), is_number ? "; expected a value" : expected);
}

/* The copy has no byte after it, so that sanitizers find a read there. */
static void check_agreement(blis_json *json, blis_buffer *text, blis_status *status) {
  size_t length = text->length;
  char *exact = malloc(length > 0 ? length : 1);
  CHECK(exact != NULL);
  memcpy(exact, blis_buffer_text(text), length);
  blis_slice slice = {exact, length};
  if (!json_reference_agrees(json, slice, status)) {
    check_fail(__FILE__, __LINE__, "the reference parser disagrees: %s", blis_buffer_text(text));
  }
  if (*status != BLIS_OK) {
    check_place(json, slice);
  }
  free(exact);
}

static void random_texts_agree_with_the_reference(void) {
  blis_json json;
  blis_buffer text;
  int sound = 0;
  blis_json_init(&json, &heap);
  blis_buffer_init(&text, &heap);
  blis_random_init(&rng, 15);
  for (int i = 0; i < TEXTS; i++) {
    blis_status status;
    json.allows_any_number = i % 2 != 0;
    blis_buffer_clear(&text);
    add_value(&text, 0);
    if (below(3) == 0) {
      break_text(&text);
    }
    check_agreement(&json, &text, &status);
    sound += status == BLIS_OK;
  }
  CHECK(sound > TEXTS / 4 && sound < TEXTS * 9 / 10);
  blis_buffer_deinit(&text);
  blis_json_deinit(&json);
}

/* Each alone, as an item, and as a part of a text. */
static void all_pieces_agree_with_the_reference(void) {
  static const char *const forms[] = {"%s",         "[%s]",       "[1,%s,2]",  "\"%s\"",
                                      "{\"%s\":1}", "[\"a%sb\"]", "{\"k\":%s}"};
  static const struct {
    const char *const *items;
    size_t count;
  } lists[] = {{numbers, sizeof numbers / sizeof *numbers},
               {words, sizeof words / sizeof *words},
               {pieces, sizeof pieces / sizeof *pieces},
               {bad_pieces, sizeof bad_pieces / sizeof *bad_pieces},
               {spaces, sizeof spaces / sizeof *spaces}};
  blis_json json;
  blis_buffer text;
  blis_json_init(&json, &heap);
  blis_buffer_init(&text, &heap);
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
    for (size_t i = 0; i < lists[k].count; i++) {
      for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        const char *gap = strstr(forms[f], "%s");
        blis_status status;
        blis_buffer_clear(&text);
        blis_buffer_bytes(&text, forms[f], (size_t)(gap - forms[f]));
        blis_buffer_string(&text, lists[k].items[i]);
        blis_buffer_string(&text, gap + 2);
        json.allows_any_number = false;
        check_agreement(&json, &text, &status);
        json.allows_any_number = true;
        check_agreement(&json, &text, &status);
      }
    }
  }
  blis_buffer_deinit(&text);
  blis_json_deinit(&json);
}

static void check_nesting(blis_json *json, int levels, const char *inside) {
  blis_buffer text;
  blis_status status;
  blis_buffer_init(&text, &heap);
  blis_buffer_repeat(&text, '[', (size_t)levels);
  blis_buffer_string(&text, inside);
  blis_buffer_repeat(&text, ']', (size_t)levels);
  check_agreement(json, &text, &status);
  blis_buffer_deinit(&text);
}

static void nesting_has_the_same_limit(void) {
  blis_json json;
  blis_json_init(&json, &heap);
  for (int levels = 2045; levels < 2051; levels++) {
    check_nesting(&json, levels, "");
    check_nesting(&json, levels, "1");
    check_nesting(&json, levels, "{}");
    check_nesting(&json, levels, "1,2");
  }
  blis_json_deinit(&json);
}

static void long_numbers_and_texts_are_read(void) {
  static const char *const heads[] = {"0.", "1", "-0.00", "\"", "1e"};
  blis_json json;
  blis_buffer text;
  blis_json_init(&json, &heap);
  blis_buffer_init(&text, &heap);
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    for (int length = 0; length < LONG; length += 1 + length / 20) {
      blis_status status;
      blis_buffer_clear(&text);
      blis_buffer_string(&text, heads[i]);
      blis_buffer_repeat(&text, '3', (size_t)length);
      blis_buffer_string(&text, heads[i][0] == '"' ? "\"" : "e-7");
      check_agreement(&json, &text, &status);
    }
  }
  blis_buffer_deinit(&text);
  blis_json_deinit(&json);
}

/* Rows of a trace are read in the same memory. */
static void a_tree_takes_the_place_of_the_one_before(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  const blis_slice row = blis_slice_of("{\"a\": [1, 2, 3], \"b\": \"text\"}");
  blis_error error;
  blis_json json;
  blis_json_init(&json, &alloc);
  CHECK_OK(blis_json_parse(&json, "f", 1, row, &error), &error);
  long requests = memory.requests;
  for (int64_t line = 2; line < 100; line++) {
    CHECK_OK(blis_json_parse(&json, "f", line, row, &error), &error);
    CHECK_EQ_I64(blis_json_count(blis_json_root(&json)), 2);
  }
  CHECK_EQ_I64(memory.requests, requests);
  CHECK_STATUS(blis_json_parse(&json, "f", 1, blis_slice_of("[1"), &error), BLIS_ERR_PARSE);
  CHECK(blis_json_type_of(blis_json_root(&json)) == BLIS_JSON_MISSING);
  blis_json_deinit(&json);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void no_memory_is_an_error(void) {
  const blis_slice text =
      blis_slice_of("{\"a\":[1,2,3],\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,"
                    "\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,"
                    "\"q\":{}}");
  blis_status status = BLIS_ERR_NOMEM;
  long request = 0;
  while (status == BLIS_ERR_NOMEM) {
    blis_alloc_probe memory = {.fail_at = ++request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_json json;
    blis_json_init(&json, &alloc);
    status = blis_json_parse(&json, "f", 1, text, NULL);
    CHECK((status == BLIS_OK) == (json.root != NULL));
    blis_json_deinit(&json);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK_STATUS(status, BLIS_OK);
  CHECK(request > 4);
}

static void check_bits(blis_json *json, size_t index, uint64_t expected) {
  blis_error error;
  uint64_t bits = 0;
  CHECK_OK(blis_json_id64(blis_json_item(blis_json_root(json), index), &bits, &error), &error);
  CHECK(bits == expected);
}

static void ids_have_any_64_bits(void) {
  blis_json json;
  blis_error error;
  uint64_t bits = 5;
  int64_t whole;
  blis_json_init(&json, &heap);
  blis_json_allow_any_number(&json);
  const char text[] = "[7, 8.0, 0, 9223372036854775807, 9223372036854775808, "
                      "18446744073709551615, 18446744073709551616, 1.5, \"7\", -1]";
  CHECK_OK(blis_json_parse(&json, "f", 3, blis_slice_of(text), &error), &error);
  check_bits(&json, 0, 7);
  check_bits(&json, 1, 8);
  check_bits(&json, 2, 0);
  check_bits(&json, 3, INT64_MAX);
  check_bits(&json, 4, UINT64_C(1) << 63);
  check_bits(&json, 5, UINT64_MAX);
  CHECK_OK(blis_json_id64(blis_json_item(blis_json_root(&json), 6), &bits, &error), &error);
  CHECK(bits != 0);
  bits = 5;
  for (size_t i = 7; i < 10; i++) {
    CHECK_STATUS(blis_json_id64(blis_json_item(blis_json_root(&json), i), &bits, &error),
                 BLIS_ERR_PARSE);
  }
  CHECK(bits == 5);
  CHECK_STATUS(blis_json_int64(blis_json_item(blis_json_root(&json), 5), 0, 9, &whole, &error),
               BLIS_ERR_PARSE);
  CHECK_STR(error.message, "f:3: item 6: 18446744073709552000 is out of range");
  blis_json_deinit(&json);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(random_texts_agree_with_the_reference);
  RUN(all_pieces_agree_with_the_reference);
  RUN(nesting_has_the_same_limit);
  RUN(long_numbers_and_texts_are_read);
  RUN(a_tree_takes_the_place_of_the_one_before);
  RUN(no_memory_is_an_error);
  RUN(ids_have_any_64_bits);
  return check_done();
}
