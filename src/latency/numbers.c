#include "latency/numbers.h"

#include <stdlib.h>

/* Beyond this exponent the result is 0 (or infinite) whatever follows. */
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
