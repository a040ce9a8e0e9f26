#include "base/slice.h"

#include "check.h"

static void slices_compare_with_texts(void) {
  blis_slice word = {"queue depth", 5};
  CHECK(blis_slice_equals(word, "queue"));
  CHECK(!blis_slice_equals(word, "queue "));
  CHECK(!blis_slice_equals(word, "quEue"));
  CHECK(blis_slice_equals((blis_slice){NULL, 0}, ""));
  CHECK(blis_slice_equals(blis_slice_of("ttft"), "ttft"));
}

static void trimming_takes_space_from_both_ends(void) {
  static const struct {
    const char *text;
    const char *trimmed;
  } cases[] = {{"", ""}, {" \t\r\n", ""}, {"a", "a"}, {" a", "a"}, {"a ", "a"}, {"\ta b\n", "a b"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_slice trimmed = blis_slice_trim(blis_slice_of(cases[i].text));
    CHECK(blis_slice_equals(trimmed, cases[i].trimmed));
  }
}

static void messages_show_any_bytes(void) {
  CHECK_STR(blis_show(blis_slice_of("abc")).text, "'abc'");
  CHECK_STR(blis_show((blis_slice){NULL, 0}).text, "''");
  CHECK_STR(blis_show((blis_slice){"a\0\x7f\n", 4}).text, "'a\\x00\\x7f\\x0a'");
  CHECK_STR(blis_show(blis_slice_of("0123456789012345678901234567890123456789")).text,
            "'0123456789012345678901234567890123456789'");
  CHECK_STR(blis_show(blis_slice_of("0123456789012345678901234567890123456789x")).text,
            "'0123456789012345678901234567890123456789'...");
  /* The e with its accent takes the bytes 39 and 40. */
  CHECK_STR(blis_show(blis_slice_of("012345678901234567890123456789012345678\u00e9x")).text,
            "'012345678901234567890123456789012345678'...");
  /* Characters that turn the direction of text, and controls of two bytes. */
  CHECK_STR(blis_show(blis_slice_of("\u202a\u202ea\u2066\u2069")).text,
            "'\\xe2\\x80\\xaa\\xe2\\x80\\xaea\\xe2\\x81\\xa6\\xe2\\x81\\xa9'");
  CHECK_STR(blis_show(blis_slice_of("\xc2\x80\xc2\x9f\xc2\xa0")).text,
            "'\\xc2\\x80\\xc2\\x9f\xc2\xa0'");
  CHECK_STR(blis_show(blis_slice_of("\u2029\u202f\u2065\u206a")).text,
            "'\u2029\u202f\u2065\u206a'");
  CHECK_STR(blis_show((blis_slice){"\xe2\x80\xae", 2}).text, "'\xe2\x80'");
  char controls[41];
  memset(controls, 1, sizeof controls);
  CHECK_EQ_I64(strlen(blis_show((blis_slice){controls, 41}).text), 40 * 4 + 5);
}

int main(void) {
  RUN(slices_compare_with_texts);
  RUN(trimming_takes_space_from_both_ends);
  RUN(messages_show_any_bytes);
  return check_done();
}
