/*
 * number.h - converts text to numbers and back, independently of the locale.
 *
 * Only decimal numbers are accepted: no hexadecimal, no "inf" or "nan", no spaces, no trailing
 * characters. (strtod and snprintf follow the locale of the program, which blis never sets.)
 */
#ifndef BLIS_BASE_NUMBER_H
#define BLIS_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

typedef enum blis_number_fault {
  BLIS_NUMBER_OK,
  BLIS_NUMBER_EMPTY,
  BLIS_NUMBER_MALFORMED,
  BLIS_NUMBER_NOT_WHOLE, /* a number, but not an integer */
  BLIS_NUMBER_TOO_LARGE  /* magnitude out of the range of the type */
} blis_number_fault;

/* Returns a text such as "is not a number", to append to the value; static. */
const char *blis_number_fault_text(blis_number_fault fault);

/*
 * Parses an integer: an optional sign and digits, or a number with a fraction or an exponent if its
 * value is an integer, such as 100.0 (from pandas) and 1e3. Any fault leaves *value unchanged.
 */
blis_number_fault blis_parse_int64(blis_slice text, int64_t *value);

/*
 * Parses an optional sign, digits with at most one point, and an optional exponent into the nearest
 * double. Any fault leaves *value unchanged.
 */
blis_number_fault blis_parse_double(blis_slice text, double *value);

/*
 * The range from min to max, as messages describe it: "0 to 100", "0 or more" if max is the largest
 * value (INT64_MAX, or DBL_MAX and more), "100 or less", and "a finite number" for the full range.
 */
typedef struct blis_range_text {
  char text[64];
} blis_range_text;

blis_range_text blis_range_of_int64(int64_t min, int64_t max);
blis_range_text blis_range_of_double(double min, double max);

/*
 * Output formats of blis_format_double. All use the fewest digits that read back as the same value.
 */
typedef enum blis_double_style {
  BLIS_DOUBLE_JSON,   /* 1e-7, 0.000001, 100000000000000000000, 1e+21 */
  BLIS_DOUBLE_SHORT,  /* 1e-05, 0.0001, 100000, 1e+06 */
  BLIS_DOUBLE_DIGITS, /* never an exponent */
} blis_double_style;

enum { BLIS_INT64_TEXT_SIZE = 21, BLIS_DOUBLE_TEXT_SIZE = 344 };

/* Writes value and a terminating zero. Returns the length of the text. */
size_t blis_format_int64(int64_t value, char text[BLIS_INT64_TEXT_SIZE]);

/*
 * Writes the shortest decimal number that is nearer to value than to any other double, and a
 * terminating zero. Returns the length. Whole numbers get no ".0". The styles equal Go's
 * encoding/json and its strconv with 'g' and 'f'. Non-finite values become NaN, +Inf, or -Inf.
 */
size_t blis_format_double(double value, blis_double_style style, char text[BLIS_DOUBLE_TEXT_SIZE]);

/* A number as shown in messages, for "%s": 0.1, not 0.10000000000000001. */
typedef struct blis_shown_double {
  char text[32];
} blis_shown_double;

blis_shown_double blis_show_double(double value);

#endif
