#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Integers up to this size are exact in a double. */
#define EXACT_MAX (UINT64_C(1) << 53)

enum {
  DIGITS_MAX = 17,         /* enough for any double */
  NUMBER_LENGTH_MAX = 1023 /* longest string that is parsed as a number */
};

const char *blis_number_fault_text(blis_number_fault fault) {
  switch (fault) {
  case BLIS_NUMBER_OK:
    return "is a number";
  case BLIS_NUMBER_EMPTY:
    return "is empty, not a number";
  case BLIS_NUMBER_MALFORMED:
    return "is not a number";
  case BLIS_NUMBER_NOT_WHOLE:
    return "is not a whole number";
  case BLIS_NUMBER_TOO_LARGE:
    return "is too large a number";
  }
  return "is not a number";
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The parts of a decimal number: mantissa * 10^exponent. */
typedef struct decimal {
  bool is_negative;
  bool is_exact;     /* the mantissa contains every digit */
  uint64_t mantissa; /* value of the first digits */
  int64_t exponent;
} decimal;

/* Reads digits into the mantissa. Returns the first byte that is not a digit. */
static const char *scan_digits(const char *at, const char *end, decimal *number, bool is_fraction) {
  for (; at < end && is_digit(*at); at++) {
    if (number->mantissa < UINT64_MAX / 10 - 1) {
      number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
      number->exponent -= is_fraction;
    } else {
      number->is_exact = number->is_exact && *at == '0';
      number->exponent += !is_fraction;
    }
  }
  return at;
}

/* Reads the exponent after "e". Returns NULL if it is invalid. */
static const char *scan_exponent(const char *at, const char *end, decimal *number) {
  bool is_negative = at < end && *at == '-';
  at += at < end && (*at == '-' || *at == '+');
  if (at == end || !is_digit(*at)) {
    return NULL;
  }
  int64_t exponent = 0;
  for (; at < end && is_digit(*at); at++) {
    if (exponent < 100000) {
      exponent = exponent * 10 + (*at - '0');
    }
  }
  number->exponent += is_negative ? -exponent : exponent;
  return at;
}

static blis_number_fault scan_decimal(blis_slice text, decimal *number) {
  *number = (decimal){.is_exact = true};
  if (text.length == 0) {
    return BLIS_NUMBER_EMPTY;
  }
  const char *at = text.data;
  const char *end = text.data + text.length;
  number->is_negative = *at == '-';
  at += *at == '-' || *at == '+';
  const char *whole = at;
  at = scan_digits(at, end, number, false);
  bool has_digits = at > whole;
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    at = scan_digits(at, end, number, true);
    has_digits = has_digits || at > fraction;
  }
  if (has_digits && at < end && (*at == 'e' || *at == 'E')) {
    at = scan_exponent(at + 1, end, number);
  }
  bool is_number = has_digits && at == end;
  return is_number ? BLIS_NUMBER_OK : BLIS_NUMBER_MALFORMED;
}

/* Converts a decimal to an integer if it is whole, such as 100 for "100.0" and "1e2". */
static blis_number_fault whole_of(decimal number, uint64_t limit, int64_t *value) {
  bool has_fraction = number.exponent < 0;
  for (; number.exponent < 0 && number.mantissa % 10 == 0 && number.mantissa > 0;
       number.exponent++) {
    number.mantissa /= 10;
  }
  bool is_zero = number.is_exact && number.mantissa == 0;
  if ((number.exponent < 0 && !is_zero) || (has_fraction && !number.is_exact)) {
    return BLIS_NUMBER_NOT_WHOLE;
  }
  for (; number.exponent > 0 && !is_zero; number.exponent--) {
    if (number.mantissa > limit / 10) {
      return BLIS_NUMBER_TOO_LARGE;
    }
    number.mantissa *= 10;
  }
  if (!number.is_exact || number.mantissa > limit) {
    return BLIS_NUMBER_TOO_LARGE;
  }
  *value = number.is_negative && !is_zero ? -(int64_t)(number.mantissa - 1) - 1
                                          : (int64_t)number.mantissa;
  return BLIS_NUMBER_OK;
}

/* The slow path: parses a number with a point or an exponent, or returns the fault of the text. */
static blis_number_fault parse_whole(blis_slice text, uint64_t limit, int64_t *value) {
  decimal number;
  blis_number_fault fault = scan_decimal(text, &number);
  return fault == BLIS_NUMBER_OK ? whole_of(number, limit, value) : fault;
}

/* A number with this many digits always fits. */
enum { SAFE_DIGITS = 18 };

blis_number_fault blis_parse_int64(blis_slice text, int64_t *value) {
  size_t i = 0;
  bool is_negative = text.length > 0 && text.data[0] == '-';
  i += text.length > 0 && (text.data[0] == '-' || text.data[0] == '+');
  const uint64_t limit = (uint64_t)INT64_MAX + is_negative;
  size_t first = i;
  uint64_t size = 0;
  for (; i < text.length && is_digit(text.data[i]); i++) {
    uint64_t digit = (uint64_t)(text.data[i] - '0');
    bool may_be_large = i - first >= SAFE_DIGITS;
    if (may_be_large && size > (limit - digit) / 10) {
      return parse_whole(text, limit, value);
    }
    size = size * 10 + digit;
  }
  if (i == first || i < text.length) {
    return parse_whole(text, limit, value);
  }
  /* Negated in two steps, because 2^63 does not fit in int64_t. */
  *value = is_negative && size > 0 ? -(int64_t)(size - 1) - 1 : (int64_t)size;
  return BLIS_NUMBER_OK;
}

/*
 * Computes the nearest double with one rounded operation on two exact doubles (W. D. Clinger 1990).
 * Returns false if the number is not that simple.
 */
static bool is_simple(const decimal *number, double *value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (!number->is_exact || number->mantissa > EXACT_MAX || number->exponent < -22 ||
      number->exponent > 22) {
    return false;
  }
  double size = (double)number->mantissa;
  size = number->exponent < 0 ? size / powers[-number->exponent] : size * powers[number->exponent];
  *value = number->is_negative ? -size : size;
  return true;
}

blis_number_fault blis_parse_double(blis_slice text, double *value) {
  decimal number;
  blis_number_fault fault = scan_decimal(text, &number);
  if (fault != BLIS_NUMBER_OK || is_simple(&number, value)) {
    return fault;
  }
  if (text.length > NUMBER_LENGTH_MAX) {
    return BLIS_NUMBER_MALFORMED;
  }
  char terminated[NUMBER_LENGTH_MAX + 1];
  memcpy(terminated, text.data, text.length);
  terminated[text.length] = '\0';
  double nearest = strtod(terminated, NULL);
  if (!isfinite(nearest)) {
    return BLIS_NUMBER_TOO_LARGE;
  }
  *value = nearest;
  return BLIS_NUMBER_OK;
}

/* Writes the digits of value without a sign; returns their number. */
static size_t write_digits(uint64_t value, char *text) {
  char reversed[20];
  size_t count = 0;
  do {
    reversed[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  for (size_t i = 0; i < count; i++) {
    text[i] = reversed[count - 1 - i];
  }
  return count;
}

size_t blis_format_int64(int64_t value, char text[BLIS_INT64_TEXT_SIZE]) {
  size_t length = 0;
  uint64_t size = (uint64_t)value;
  if (value < 0) {
    text[length++] = '-';
    size = ~size + 1;
  }
  length += write_digits(size, text + length);
  text[length] = '\0';
  return length;
}

/* The significant digits of a positive number: 0.d1d2d3... * 10^point. */
typedef struct significant {
  char digits[DIGITS_MAX + 3];
  int count;
  int point;
} significant;

static void drop_zeros(significant *number) {
  while (number->count > 1 && number->digits[number->count - 1] == '0') {
    number->count--;
  }
}

/*
 * Finds the digits of integers and of multiples of 1/1000 (microseconds printed in milliseconds),
 * which make up most of the output. Among numbers of at most 15 digits, the decimal that reads back
 * is the shortest one.
 */
static bool find_common(double value, significant *number) {
  double thousandths = value * 1000.0;
  double scale = 1.0;
  if (value <= (double)EXACT_MAX && value == floor(value)) {
    thousandths = value;
  } else {
    thousandths = nearbyint(thousandths);
    scale = 1000.0;
    if (thousandths >= 1e15 || thousandths / scale != value) {
      return false;
    }
  }
  size_t count = write_digits((uint64_t)thousandths, number->digits);
  number->count = (int)count;
  number->point = (int)count - (scale > 1.0 ? 3 : 0);
  drop_zeros(number);
  return true;
}

/*
 * Handles any number: uses the first precision that reads back as the same value, starting at 15
 * digits.
 */
static void find_shortest(double value, significant *number) {
  /* Subnormal doubles have fewer bits, so fewer digits may suffice. */
  int precision = value < 0x1p-1022 ? 1 : 15;
  char text[DIGITS_MAX + 16];
  for (; precision <= DIGITS_MAX; precision++) {
    snprintf(text, sizeof text, "%.*e", precision - 1, value);
    if (strtod(text, NULL) == value) {
      break;
    }
  }
  number->count = 0;
  const char *at = text;
  for (; *at != 'e'; at++) {
    if (is_digit(*at)) {
      number->digits[number->count++] = *at;
    }
  }
  number->point = (int)strtol(at + 1, NULL, 10) + 1;
  drop_zeros(number);
}

static size_t write_plain(const significant *number, char *text) {
  char *end = text;
  if (number->point <= 0) {
    *end++ = '0';
  }
  for (int i = 0; i < number->point; i++) {
    *end++ = (char)(i < number->count ? number->digits[i] : '0');
  }
  if (number->count > number->point) {
    *end++ = '.';
  }
  for (int i = number->point; i < number->count; i++) {
    *end++ = (char)(i < 0 ? '0' : number->digits[i]);
  }
  *end = '\0';
  return (size_t)(end - text);
}

static size_t write_scientific(const significant *number, int exponent_digits, char *text) {
  int exponent = number->point - 1;
  return (size_t)snprintf(text, DIGITS_MAX + 8, "%c%s%.*se%c%0*d", number->digits[0],
                          number->count > 1 ? "." : "", number->count - 1, number->digits + 1,
                          exponent < 0 ? '-' : '+', exponent_digits, abs(exponent));
}

size_t blis_format_double(double value, blis_double_style style, char text[BLIS_DOUBLE_TEXT_SIZE]) {
  if (!isfinite(value)) {
    const char *name = value > 0 ? "+Inf" : value < 0 ? "-Inf" : "NaN";
    return (size_t)snprintf(text, 5, "%s", name);
  }
  size_t sign_length = 0;
  if (signbit(value)) {
    text[sign_length++] = '-';
    value = -value;
  }
  significant number = {.count = 0};
  if (!find_common(value, &number)) {
    find_shortest(value, &number);
  }
  text += sign_length;
  int exponent = number.point - 1;
  bool is_json = style == BLIS_DOUBLE_JSON;
  bool is_scientific =
      value != 0.0 && (is_json ? exponent < -6 || exponent >= 21 : exponent < -4 || exponent >= 6);
  if (is_scientific && style != BLIS_DOUBLE_DIGITS) {
    return sign_length + write_scientific(&number, is_json ? 1 : 2, text);
  }
  return sign_length + write_plain(&number, text);
}

static blis_range_text range_of(const char *min, const char *max) {
  blis_range_text range;
  if (max == NULL) {
    snprintf(range.text, sizeof range.text, "%.40s or more", min);
  } else if (min == NULL) {
    snprintf(range.text, sizeof range.text, "%.40s or less", max);
  } else {
    snprintf(range.text, sizeof range.text, "%.29s to %.29s", min, max);
  }
  return range;
}

/* Returns the text for a range that is limited only by the type. Its ends carry no information. */
static blis_range_text range_of_all(const char *what) {
  blis_range_text range;
  snprintf(range.text, sizeof range.text, "%s", what);
  return range;
}

blis_range_text blis_range_of_int64(int64_t min, int64_t max) {
  if (min == INT64_MIN && max == INT64_MAX) {
    return range_of_all("a whole number below 2^63 in size");
  }
  char first[BLIS_INT64_TEXT_SIZE];
  char last[BLIS_INT64_TEXT_SIZE];
  blis_format_int64(min, first);
  blis_format_int64(max, last);
  return range_of(min > INT64_MIN ? first : NULL, max < INT64_MAX ? last : NULL);
}

blis_range_text blis_range_of_double(double min, double max) {
  if (min <= -DBL_MAX && max >= DBL_MAX) {
    return range_of_all("a finite number");
  }
  char first[BLIS_DOUBLE_TEXT_SIZE];
  char last[BLIS_DOUBLE_TEXT_SIZE];
  blis_format_double(min, BLIS_DOUBLE_JSON, first);
  blis_format_double(max, BLIS_DOUBLE_JSON, last);
  return range_of(min > -DBL_MAX ? first : NULL, max < DBL_MAX ? last : NULL);
}

blis_shown_double blis_show_double(double value) {
  char text[BLIS_DOUBLE_TEXT_SIZE];
  blis_shown_double shown;
  blis_format_double(value, BLIS_DOUBLE_JSON, text);
  snprintf(shown.text, sizeof shown.text, "%.31s", text);
  return shown;
}
