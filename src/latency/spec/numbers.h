/*
 * numbers.h - arithmetic that must give the same bits everywhere: from doubles
 * to microseconds, exact divisions, whole powers.
 */
#ifndef BLIS_LATENCY_SPEC_NUMBERS_H
#define BLIS_LATENCY_SPEC_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole numbers below this are exact in a double, sums of them too. */
#define BLIS__EXACT_MAX 9007199254740992.0

/* Truncates toward zero; NaN and anything past the range become INT64_MAX. */
static inline int64_t blis__truncate(double us) {
  return us < 9223372036854775808.0 ? (int64_t)us : INT64_MAX;
}

/* A step takes at least one microsecond. */
static inline int64_t blis__step_us(double us) {
  int64_t step_us = blis__truncate(us);
  return step_us < 1 ? 1 : step_us;
}

/*
 * Computes the times of count >= 2 steps with equal differences, from the
 * untruncated times of the first and the last. Each result equals the truncation of
 * its own sum of up to 32 rounded terms, none negative. Returns false if that is
 * not certain: some time is too near a whole number, times fall, or times are below
 * 2 us or at least 2^30 us.
 */
bool blis__step_times_between(double first_us, double last_us, size_t count, int64_t *step_us);

/*
 * A divisor that is fixed in advance. Dividing by a power of two is multiplying by
 * its inverse, to the last bit and several times faster.
 */
typedef struct blis__divisor {
  double value;
  double inverse; /* 0 when the inverse is not exact */
} blis__divisor;

static inline blis__divisor blis__divisor_of(double value) {
  int exponent;
  bool is_power_of_two = frexp(value, &exponent) == 0.5;
  return (blis__divisor){value, is_power_of_two ? 1.0 / value : 0.0};
}

static inline double blis__divide(double x, const blis__divisor *by) {
  return by->inverse != 0.0 ? x * by->inverse : x / by->value;
}

/* True for every width of a number in bytes that is a whole number of bits. */
static inline bool blis__is_eighths(double value) {
  return value * 8.0 == trunc(value * 8.0);
}

/*
 * base^exponent for 0 <= base <= 1, exponent >= 0, by squaring the mantissa and
 * keeping its exponent separately. This order of roundings matches the general
 * power function of the Go library (math.Pow, 1.24). C libraries differ from it in
 * the last bits, and from each other.
 */
double blis__power(double base, int64_t exponent);

#endif
