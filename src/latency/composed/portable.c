#include "latency/composed/portable.h"

#include <math.h>

#include "base/invariant.h"

/* ln 2 as a sum of two parts. Products of LN2_HIGH and integers below 2^11 are exact. */
#define LN2_HIGH 0x1.62e42fefa3800p-1
#define LN2_LOW 0x1.ef35793c76730p-45

/*
 * x = m * 2^e with m in [sqrt(1/2), sqrt(2)), and ln m = 2 artanh(s) with s = (m - 1) / (m + 1),
 * |s| < 0.172. With eleven terms of the series, the remainder is less than 2^-56.
 */
double blis__portable_log(double x) {
  BLIS_ASSERT(x > 0 && isfinite(x));
  int exponent;
  double mantissa = frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    exponent--;
  }
  double s = (mantissa - 1) / (mantissa + 1);
  double square = s * s;
  double series = 0;
  for (int term = 23; term >= 3; term -= 2) {
    series = (series + 1.0 / term) * square;
  }
  double low = exponent * LN2_LOW + 2 * s * series;
  return exponent * LN2_HIGH + (2 * s + low);
}

/* Uses x = n ln 2 + r with |r| <= ln 2 / 2, and 14 terms of the Taylor series of e^r. */
double blis__portable_exp(double x) {
  BLIS_ASSERT(fabs(x) <= 700);
  double n = floor(x / (LN2_HIGH + LN2_LOW) + 0.5);
  double r = (x - n * LN2_HIGH) - n * LN2_LOW;
  double sum = 1;
  for (int term = 14; term >= 1; term--) {
    sum = 1 + r * sum / term;
  }
  return ldexp(sum, (int)n);
}

double blis__portable_power(double base, double exponent) {
  BLIS_ASSERT(base >= 0);
  return base == 0 ? 0 : blis__portable_exp(exponent * blis__portable_log(base));
}
