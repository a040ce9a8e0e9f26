/*
 * knots.h - a function of an integer, tabulated once and read in O(1). The table has a knot for
 * every integer up to 32, then six knots per doubling, and interpolates linearly. Values never
 * decrease from one knot to the next. Beyond the last knot, the last slope continues.
 */
#ifndef BLIS_LATENCY_COMPOSED_KNOTS_H
#define BLIS_LATENCY_COMPOSED_KNOTS_H

#include <stddef.h>
#include <stdint.h>

enum { BLIS__KNOTS_MAX = 32 + 6 * 20 + 2 };

typedef struct blis__knots {
  size_t count;
  int64_t at[BLIS__KNOTS_MAX];
  double value[BLIS__KNOTS_MAX];
  double slope[BLIS__KNOTS_MAX]; /* from this knot to the next */
} blis__knots;

/* Tabulates f(ud, n) for 0 <= n <= most, with 1 <= most <= 2^25. f(ud, 0) is assumed to be 0. */
void blis__knots_fill(blis__knots *knots, int64_t most, double (*f)(void *ud, double n), void *ud);

double blis__knots_read(const blis__knots *knots, int64_t n);

#endif
