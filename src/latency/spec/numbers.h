/*
 * numbers.h - arithmetic that must be bit-identical on every machine: conversion of doubles to
 * microseconds, exact divisions, and integer powers.
 */
#ifndef BLIS_LATENCY_SPEC_NUMBERS_H
#define BLIS_LATENCY_SPEC_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers below this, and their sums below this, are exact in a double. */
#define BLIS__EXACT_MAX 9007199254740992.0

/* Truncates toward zero. NaN and values above the range become INT64_MAX. */
static inline int64_t blis__truncate(double us) {
  return us < 9223372036854775808.0 ? (int64_t)us : INT64_MAX;
}

/* Truncates the duration of a step, which is at least one microsecond. */
static inline int64_t blis__step_us(double us) {
  int64_t step_us = blis__truncate(us);
  return step_us < 1 ? 1 : step_us;
}

/*
 * Computes the times of count >= 2 steps by linear interpolation between the untruncated times of
 * the first and the last step. Each result equals the truncated sum of up to 32 rounded,
 * non-negative terms for this step. Returns false if this is not certain: if a time is too close to
 * an integer, if times decrease, or if times are below 2 us or at least 2^30 us.
 */
bool blis__step_times_between(double first_us, double last_us, size_t count, int64_t *step_us);

/*
 * A divisor that is known in advance. Multiplying by the inverse of a power of two gives exactly
 * the result of a division and is several times faster.
 */
typedef struct blis__divisor {
  double value;
  double inverse; /* 0 if the inverse is not exact */
} blis__divisor;

static inline blis__divisor blis__divisor_of(double value) {
  int exponent;
  bool is_power_of_two = frexp(value, &exponent) == 0.5;
  return (blis__divisor){value, is_power_of_two ? 1.0 / value : 0.0};
}

static inline double blis__divide(double x, const blis__divisor *by) {
  return by->inverse != 0.0 ? x * by->inverse : x / by->value;
}

/* Returns whether value is a multiple of 1/8: a width in bytes that is a whole number of bits. */
static inline bool blis__is_eighths(double value) {
  return value * 8.0 == trunc(value * 8.0);
}

/*
 * Returns base^exponent for 0 <= base <= 1 and exponent >= 0. It squares the mantissa and keeps the
 * exponent separately. This order of roundings matches math.Pow of Go 1.24. C libraries differ from
 * it, and from each other, in the last bits.
 */
double blis__power(double base, int64_t exponent);

#endif
