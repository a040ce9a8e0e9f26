/* Named values: limits, words, and what is said of others. */
#include "base/format/key.h"

#include <math.h>

#include "check.h"

static blis_error error;

static void limits_are_told(void) {
  static const struct {
    blis_key key;
    const char *text;
  } cases[] = {{{.maximum = 5, .is_whole = true}, "an integer from 0 to 5"},
               {{.minimum = 1, .maximum = INFINITY}, "a number of at least 1"},
               {{.maximum = INFINITY, .is_above = true}, "a number above 0"},
               {{.maximum = 1, .is_above = true}, "a number above 0 and up to 1"},
               {{.minimum = -INFINITY, .maximum = 3}, "a number of at most 3"},
               {{.minimum = -INFINITY, .maximum = INFINITY}, "a number"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_STR(blis_key_expectation(&cases[i].key).text, cases[i].text);
  }
}

static void numbers_are_checked(void) {
  const blis_key share = {.name = "share", .maximum = 1, .is_above = true};
  CHECK_OK(blis_key_check_number(&share, "", 1, &error), &error);
  const double wrong[] = {0, -1, 1.5, (double)INFINITY, (double)NAN};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_STATUS(blis_key_check_number(&share, "a: ", wrong[i], &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, "a: share is ");
  }
  const blis_key count = {.name = "count", .maximum = 5, .is_whole = true};
  CHECK_STATUS(blis_key_check_number(&count, "", 0.5, &error), BLIS_ERR_INVALID);
  CHECK_OK(blis_key_check_integer(&count, "", 0, &error), &error);
  CHECK_OK(blis_key_check_integer(&count, "", 5, &error), &error);
  CHECK_STATUS(blis_key_check_integer(&count, "", -1, &error), BLIS_ERR_INVALID);
  CHECK_STATUS(blis_key_check_integer(&count, "x: ", 6, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "x: count is 6; expected an integer from 0 to 5");
}

static void words_are_checked(void) {
  const blis_key colour = {.name = "colour", .choices = "red|green|blue"};
  CHECK_OK(blis_key_check_choice(&colour, "", "green", &error), &error);
  CHECK_EQ_I64(blis_key_choice(colour.choices, "blue"), 2);
  CHECK_EQ_I64(blis_key_choice(colour.choices, "re"), -1);
  CHECK_EQ_I64(blis_key_choice(colour.choices, "red|green"), -1);
  CHECK_STATUS(blis_key_check_choice(&colour, "a: ", "gren", &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "a: unknown colour 'gren'; did you mean 'green'?");
  CHECK_STATUS(blis_key_check_choice(&colour, "", "zzz", &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "unknown colour 'zzz'; known are red, green, blue");
}

int main(void) {
  RUN(limits_are_told);
  RUN(numbers_are_checked);
  RUN(words_are_checked);
  return check_done();
}
