#include "latency/spec/numbers.h"

#include <stdlib.h>

/* Beyond this exponent, the result is 0 (or infinite) in any case. */
enum { EXPONENT_LIMIT = 4096 };

double blis__power(double base, int64_t exponent) {
  if (exponent == 0 || base == 1.0) {
    return 1.0;
  }
  if (exponent == 1 || base == 0.0) {
    return base;
  }
  int square_exponent;
  double square = frexp(base, &square_exponent);
  double result = 1.0;
  int result_exponent = 0;
  for (int64_t bits = exponent; bits != 0; bits >>= 1) {
    if (abs(square_exponent) > EXPONENT_LIMIT) {
      result_exponent += square_exponent;
      break;
    }
    if ((bits & 1) != 0) {
      result *= square;
      result_exponent += square_exponent;
    }
    square *= square;
    square_exponent *= 2;
    if (square < 0.5) {
      square += square;
      square_exponent--;
    }
  }
  return ldexp(result, result_exponent);
}

/*
 * Computes in fixed point with 32 fractional bits. The error of each sum, computed or not, is at
 * most 32 * 2^30 / 2^53 = 2^-18 us. The error of the line at its end is at most 2^-26 us. If a time
 * is at least 2^-16 us from the nearest integer, its sum therefore truncates to the same integer.
 * The sign of one accumulator records whether this holds for all times, without branches.
 */
bool blis__step_times_between(double first_us, double last_us, size_t count, int64_t *step_us) {
  const double one = 4294967296.0;
  const uint64_t margin = UINT64_C(1) << 16;
  const uint64_t fraction = UINT32_MAX & ~(2 * margin - 1);
  if (!(first_us >= 2.0 && last_us >= first_us && last_us < 1073741824.0)) {
    return false;
  }
  uint64_t us = (uint64_t)(int64_t)(first_us * one);
  uint64_t each = (uint64_t)(int64_t)((last_us - first_us) / (double)(count - 1) * one);
  uint64_t near = 0;
  for (size_t i = 0; i < count; i++) {
    step_us[i] = (int64_t)(us >> 32);
    near |= ((us + margin) & fraction) - 1;
    us += each;
  }
  return near >> 63 == 0;
}
