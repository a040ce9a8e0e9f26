/*
 * reduce.h - the least and the greatest of many numbers, by vectors.
 *
 * Zeros with different signs are equal, so the result may be either one.
 */
#ifndef BLIS_BASE_CONTAINERS_REDUCE_H
#define BLIS_BASE_CONTAINERS_REDUCE_H

#include <stddef.h>

/* Of values[0 .. count) without NaN; count >= 1. */
double blis_least_of(const double *values, size_t count);
double blis_greatest_of(const double *values, size_t count);

#endif
