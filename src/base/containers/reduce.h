/*
 * reduce.h - the minimum and maximum of many numbers, computed with vector instructions.
 *
 * Zeros with different signs compare equal, so the result may be either of them.
 */
#ifndef BLIS_BASE_CONTAINERS_REDUCE_H
#define BLIS_BASE_CONTAINERS_REDUCE_H

#include <stddef.h>

/* values[0 .. count) contain no NaN; count >= 1. */
double blis_least_of(const double *values, size_t count);
double blis_greatest_of(const double *values, size_t count);

#endif
