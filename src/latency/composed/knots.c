#include "latency/composed/knots.h"

#include <math.h>

#include "base/invariant.h"

enum { SINGLES = 32, PER_DOUBLING = 6, DOUBLINGS_MAX = 20 };

/* 2^(i/6), the positions of knots within a doubling. */
static const double STEPS[PER_DOUBLING] = {1.0,
                                           1.1224620483093730,
                                           1.2599210498948732,
                                           1.4142135623730951,
                                           1.5874010519681994,
                                           1.7817974362806785};

static void add(blis__knots *knots, int64_t n, double value) {
  size_t i = knots->count++;
  BLIS_ASSERT(i < BLIS__KNOTS_MAX);
  knots->at[i] = n;
  knots->value[i] = i > 0 ? fmax(value, knots->value[i - 1]) : value;
  if (i > 0) {
    double width = (double)(n - knots->at[i - 1]);
    knots->slope[i - 1] = (knots->value[i] - knots->value[i - 1]) / width;
    knots->slope[i] = knots->slope[i - 1];
  }
}

void blis__knots_fill(blis__knots *knots, int64_t most, double (*f)(void *ud, double n), void *ud) {
  BLIS_ASSERT(most >= 1 && most <= INT64_C(1) << 25);
  *knots = (blis__knots){0};
  add(knots, 0, 0);
  for (int64_t n = 1; n <= SINGLES; n++) {
    add(knots, n, f(ud, (double)n));
  }
  double first = SINGLES;
  for (int doubling = 0; doubling < DOUBLINGS_MAX && first < (double)most; doubling++) {
    for (int i = 0; i < PER_DOUBLING; i++) {
      int64_t n = (int64_t)floor(first * (i + 1 < PER_DOUBLING ? STEPS[i + 1] : 2) + 0.5);
      add(knots, n, f(ud, (double)n));
    }
    first *= 2;
  }
}

/*
 * Returns the index of the knot at or below n. The power of two below n determines the group of
 * knots, and five comparisons find the knot in the group.
 */
static size_t knot_below(const blis__knots *knots, int64_t n) {
  if (n <= SINGLES) {
    return (size_t)n;
  }
  size_t i = SINGLES;
  for (int64_t end = 2 * SINGLES; end <= n && i + PER_DOUBLING < knots->count; end *= 2) {
    i += PER_DOUBLING;
  }
  while (i + 1 < knots->count && knots->at[i + 1] <= n) {
    i++;
  }
  return i;
}

double blis__knots_read(const blis__knots *knots, int64_t n) {
  size_t i = knot_below(knots, n);
  return knots->value[i] + knots->slope[i] * (double)(n - knots->at[i]);
}
