/* number.h against tables of cases and against the C library. */
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/random.h"
#include "check.h"

static void integers_are_read(void) {
  static const struct {
    const char *text;
    blis_number_fault fault;
    int64_t value;
  } cases[] = {
      {"0", BLIS_NUMBER_OK, 0},
      {"-0", BLIS_NUMBER_OK, 0},
      {"+7", BLIS_NUMBER_OK, 7},
      {"-42", BLIS_NUMBER_OK, -42},
      {"007", BLIS_NUMBER_OK, 7},
      {"9223372036854775807", BLIS_NUMBER_OK, INT64_MAX},
      {"-9223372036854775808", BLIS_NUMBER_OK, INT64_MIN},
      {"9223372036854775808", BLIS_NUMBER_TOO_LARGE, 0},
      {"-9223372036854775809", BLIS_NUMBER_TOO_LARGE, 0},
      {"99999999999999999999999", BLIS_NUMBER_TOO_LARGE, 0},
      {"", BLIS_NUMBER_EMPTY, 0},
      {"-", BLIS_NUMBER_MALFORMED, 0},
      {"--1", BLIS_NUMBER_MALFORMED, 0},
      {" 1", BLIS_NUMBER_MALFORMED, 0},
      {"1 ", BLIS_NUMBER_MALFORMED, 0},
      {"0x10", BLIS_NUMBER_MALFORMED, 0},
      {"12a", BLIS_NUMBER_MALFORMED, 0},
      {"99999999999999999999999x", BLIS_NUMBER_MALFORMED, 0},
      {"1.5", BLIS_NUMBER_NOT_WHOLE, 0},
      {"1e3", BLIS_NUMBER_OK, 1000},
      {"100.0", BLIS_NUMBER_OK, 100},
      {"-3.000", BLIS_NUMBER_OK, -3},
      {"1250e-1", BLIS_NUMBER_OK, 125},
      {"0.0e99999", BLIS_NUMBER_OK, 0},
      {"9223372036854775807.0", BLIS_NUMBER_OK, INT64_MAX},
      {"-9223372036854775808.0", BLIS_NUMBER_OK, INT64_MIN},
      {"9223372036854775808.0", BLIS_NUMBER_TOO_LARGE, 0},
      {"1e19", BLIS_NUMBER_TOO_LARGE, 0},
      {"1e99999", BLIS_NUMBER_TOO_LARGE, 0},
      {"100.01", BLIS_NUMBER_NOT_WHOLE, 0},
      {"1.00000000000000000000000001", BLIS_NUMBER_NOT_WHOLE, 0},
      {"1e-3", BLIS_NUMBER_NOT_WHOLE, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t value = 99;
    CHECK_EQ_I64(blis_parse_int64(blis_slice_of(cases[i].text), &value), cases[i].fault);
    CHECK_EQ_I64(value, cases[i].fault == BLIS_NUMBER_OK ? cases[i].value : 99);
  }
  int64_t value = 99;
  CHECK(blis_parse_int64((blis_slice){"123456", 3}, &value) == BLIS_NUMBER_OK);
  CHECK_EQ_I64(value, 123);
}

static void doubles_are_read(void) {
  static const struct {
    const char *text;
    blis_number_fault fault;
    double value;
  } cases[] = {
      {"0", BLIS_NUMBER_OK, 0.0},
      {"-0", BLIS_NUMBER_OK, -0.0},
      {".5", BLIS_NUMBER_OK, 0.5},
      {"5.", BLIS_NUMBER_OK, 5.0},
      {"+1.25e2", BLIS_NUMBER_OK, 125.0},
      {"1E-2", BLIS_NUMBER_OK, 0.01},
      {"9007199254740993", BLIS_NUMBER_OK, 9007199254740992.0},
      {"9007199254740993e1", BLIS_NUMBER_OK, 90071992547409930.0},
      {"1e23", BLIS_NUMBER_OK, 1e23},
      {"1.7976931348623157e308", BLIS_NUMBER_OK, DBL_MAX},
      {"4.9e-324", BLIS_NUMBER_OK, 0x1p-1074},
      {"1e-400", BLIS_NUMBER_OK, 0.0},
      {"0e999999999999999999999", BLIS_NUMBER_OK, 0.0},
      {"123456789012345678901234567890", BLIS_NUMBER_OK, 123456789012345678901234567890.0},
      {"0.000000000000000000000000000001", BLIS_NUMBER_OK, 1e-30},
      {"1e309", BLIS_NUMBER_TOO_LARGE, 0},
      {"-1e99999", BLIS_NUMBER_TOO_LARGE, 0},
      {"", BLIS_NUMBER_EMPTY, 0},
      {".", BLIS_NUMBER_MALFORMED, 0},
      {"-", BLIS_NUMBER_MALFORMED, 0},
      {"1e", BLIS_NUMBER_MALFORMED, 0},
      {"1e+", BLIS_NUMBER_MALFORMED, 0},
      {"e5", BLIS_NUMBER_MALFORMED, 0},
      {"1.2.3", BLIS_NUMBER_MALFORMED, 0},
      {"1 ", BLIS_NUMBER_MALFORMED, 0},
      {" 1", BLIS_NUMBER_MALFORMED, 0},
      {"1,5", BLIS_NUMBER_MALFORMED, 0},
      {"0x1p3", BLIS_NUMBER_MALFORMED, 0},
      {"inf", BLIS_NUMBER_MALFORMED, 0},
      {"nan", BLIS_NUMBER_MALFORMED, 0},
      {"1_000", BLIS_NUMBER_MALFORMED, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double value = 99;
    CHECK_EQ_I64(blis_parse_double(blis_slice_of(cases[i].text), &value), cases[i].fault);
    CHECK_EQ_DOUBLE(value, cases[i].fault == BLIS_NUMBER_OK ? cases[i].value : 99);
  }
  char many_digits[2000];
  memset(many_digits, '7', sizeof many_digits);
  double value;
  CHECK_EQ_I64(blis_parse_double((blis_slice){many_digits, 2000}, &value), BLIS_NUMBER_MALFORMED);
  CHECK_EQ_I64(blis_parse_double((blis_slice){many_digits, 900}, &value), BLIS_NUMBER_TOO_LARGE);
}

static void reading_gives_the_nearest_double(void) {
  blis_random random;
  blis_random_init(&random, 41);
  for (int i = 0; i < 200000; i++) {
    char text[64];
    int64_t digits = blis_random_int63(&random) >> blis_random_intn(&random, 60);
    int exponent = blis_random_intn(&random, i % 2 == 0 ? 40 : 600);
    snprintf(text, sizeof text, "%s%lld.%de%d", i % 3 == 0 ? "-" : "", (long long)digits,
             blis_random_intn(&random, 1000), exponent - (i % 2 == 0 ? 20 : 300));
    double value = 0;
    blis_number_fault fault = blis_parse_double(blis_slice_of(text), &value);
    double expected = strtod(text, NULL);
    if (isfinite(expected)) {
      CHECK(fault == BLIS_NUMBER_OK);
      CHECK_EQ_DOUBLE(value, expected);
    } else {
      CHECK(fault == BLIS_NUMBER_TOO_LARGE);
    }
  }
}

static void doubles_are_written_in_every_style(void) {
  static const struct {
    double value;
    const char *json;
    const char *small;
    const char *digits;
  } cases[] = {
      {0.0, "0", "0", "0"},
      {-0.0, "-0", "-0", "-0"},
      {1.0, "1", "1", "1"},
      {-2.5, "-2.5", "-2.5", "-2.5"},
      {0.1 + 0.2, "0.30000000000000004", "0.30000000000000004", "0.30000000000000004"},
      {100000.0, "100000", "100000", "100000"},
      {1e6, "1000000", "1e+06", "1000000"},
      {5.47e6, "5470000", "5.47e+06", "5470000"},
      {5.477325389047552e+06, "5477325.389047552", "5.477325389047552e+06", "5477325.389047552"},
      {0.0001, "0.0001", "0.0001", "0.0001"},
      {0.00001, "0.00001", "1e-05", "0.00001"},
      {6.4226793389053755e-06, "0.0000064226793389053755", "6.4226793389053755e-06",
       "0.0000064226793389053755"},
      {1e-6, "0.000001", "1e-06", "0.000001"},
      {9.99e-7, "9.99e-7", "9.99e-07", "0.000000999"},
      {2.785e-9, "2.785e-9", "2.785e-09", "0.000000002785"},
      {1e20, "100000000000000000000", "1e+20", "100000000000000000000"},
      {1e21, "1e+21", "1e+21", "1000000000000000000000"},
      {1.5e300, "1.5e+300", "1.5e+300", NULL},
      {DBL_MAX, "1.7976931348623157e+308", "1.7976931348623157e+308", NULL},
      {0x1p-1074, "5e-324", "5e-324", NULL},
      {DBL_MIN, "2.2250738585072014e-308", "2.2250738585072014e-308", NULL},
      {9007199254740992.0, "9007199254740992", "9.007199254740992e+15", "9007199254740992"},
      {12.345, "12.345", "12.345", "12.345"},
      {0.005, "0.005", "0.005", "0.005"},
      {1234567.891, "1234567.891", "1.234567891e+06", "1234567.891"},
      {(double)INFINITY, "+Inf", "+Inf", "+Inf"},
      {-(double)INFINITY, "-Inf", "-Inf", "-Inf"},
      {(double)NAN, "NaN", "NaN", "NaN"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[BLIS_DOUBLE_TEXT_SIZE];
    size_t length = blis_format_double(cases[i].value, BLIS_DOUBLE_JSON, text);
    CHECK_STR(text, cases[i].json);
    CHECK_EQ_I64(length, strlen(text));
    length = blis_format_double(cases[i].value, BLIS_DOUBLE_SHORT, text);
    CHECK_STR(text, cases[i].small);
    CHECK_EQ_I64(length, strlen(text));
    length = blis_format_double(cases[i].value, BLIS_DOUBLE_DIGITS, text);
    CHECK_EQ_I64(length, strlen(text));
    if (cases[i].digits != NULL) {
      CHECK_STR(text, cases[i].digits);
    }
  }
}

static double random_double(blis_random *random) {
  uint64_t bits = blis_random_uint64(random);
  double value;
  memcpy(&value, &bits, sizeof value);
  switch (blis_random_intn(random, 5)) {
  case 0:
    return (double)blis_random_intn(random, INT32_MAX) / 1000.0;
  case 1:
    return blis_random_float64(random);
  case 2:
    return (double)blis_random_int63(random) / 1e3;
  case 3:
    value *= 0x1p-1022; /* often below the normal numbers */
    /* fall through */
  default:
    return isfinite(value) ? value : 0.5;
  }
}

/* No text of fewer digits reads back, and the text itself does. */
static void written_doubles_are_the_shortest(void) {
  blis_random random;
  blis_random_init(&random, 43);
  for (int i = 0; i < 100000; i++) {
    double value = random_double(&random);
    char text[BLIS_DOUBLE_TEXT_SIZE];
    for (int style = BLIS_DOUBLE_JSON; style <= BLIS_DOUBLE_DIGITS; style++) {
      blis_format_double(value, (blis_double_style)style, text);
      CHECK_EQ_DOUBLE(strtod(text, NULL), value);
      double read = 0;
      CHECK(blis_parse_double(blis_slice_of(text), &read) == BLIS_NUMBER_OK);
      CHECK_EQ_DOUBLE(read, value);
    }
    int precision = 1;
    char printed[40];
    do {
      snprintf(printed, sizeof printed, "%.*e", precision - 1, value);
    } while (strtod(printed, NULL) != value && ++precision < 18);
    int digits = 0;
    bool is_leading = true;
    int zeros = 0;
    for (const char *at = text; *at != '\0'; at++) {
      is_leading = is_leading && (*at < '1' || *at > '9');
      bool counts = !is_leading && *at >= '0' && *at <= '9';
      digits += counts;
      zeros = counts && *at == '0' ? zeros + 1 : counts ? 0 : zeros;
    }
    CHECK_EQ_I64(value == 0.0 ? 1 : digits - zeros, precision);
  }
}

static void integers_are_written(void) {
  static const int64_t values[] = {0, 1, -1, 9, 10, -10, INT64_MAX, INT64_MIN, 123456789};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char text[BLIS_INT64_TEXT_SIZE];
    char expected[32];
    snprintf(expected, sizeof expected, "%" PRId64, values[i]);
    CHECK_EQ_I64(blis_format_int64(values[i], text), strlen(expected));
    CHECK_STR(text, expected);
  }
}

static void ranges_have_a_text(void) {
  CHECK_STR(blis_range_of_int64(0, 100).text, "0 to 100");
  CHECK_STR(blis_range_of_int64(1, INT64_MAX).text, "1 or more");
  CHECK_STR(blis_range_of_int64(INT64_MIN, -3).text, "-3 or less");
  CHECK_STR(blis_range_of_int64(INT64_MIN, INT64_MAX).text, "a whole number below 2^63 in size");
  CHECK_STR(blis_range_of_double(0, 0.5).text, "0 to 0.5");
  CHECK_STR(blis_range_of_double(1e-9, DBL_MAX).text, "1e-9 or more");
  CHECK_STR(blis_range_of_double(-(double)INFINITY, 2).text, "2 or less");
  CHECK_STR(blis_range_of_double(-1.5e300, 1.25e300).text, "-1.5e+300 to 1.25e+300");
  CHECK_STR(blis_range_of_double(-DBL_MAX, DBL_MAX).text, "a finite number");
  CHECK_STR(blis_range_of_double(-DBL_MAX, 1).text, "1 or less");
}

static void numbers_are_shown_in_short(void) {
  CHECK_STR(blis_show_double(0.1).text, "0.1");
  CHECK_STR(blis_show_double(1e15).text, "1000000000000000");
  CHECK_STR(blis_show_double(-DBL_MAX).text, "-1.7976931348623157e+308");
  CHECK_STR(blis_show_double((double)NAN).text, "NaN");
}

static void faults_have_a_text(void) {
  for (int fault = BLIS_NUMBER_OK; fault <= BLIS_NUMBER_TOO_LARGE; fault++) {
    CHECK_CONTAINS(blis_number_fault_text((blis_number_fault)fault), "number");
  }
}

int main(void) {
  RUN(integers_are_read);
  RUN(doubles_are_read);
  RUN(reading_gives_the_nearest_double);
  RUN(doubles_are_written_in_every_style);
  RUN(written_doubles_are_the_shortest);
  RUN(integers_are_written);
  RUN(ranges_have_a_text);
  RUN(numbers_are_shown_in_short);
  RUN(faults_have_a_text);
  return check_done();
}
