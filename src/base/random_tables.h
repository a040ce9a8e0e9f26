/*
 * random_tables.h - constants of the generator in random.h.
 *
 * random.c includes the numbers from random_tables.inc. "test_random_tables --print" writes that
 * file. "test_random_tables" checks every number against its definition.
 */
#ifndef BLIS_BASE_RANDOM_TABLES_H
#define BLIS_BASE_RANDOM_TABLES_H

#include <stdint.h>

enum { BLIS__NORMAL_STRIPS = 128, BLIS__EXP_STRIPS = 256 };

/* Mixed into a seed's own words: the generator's state after 7.8e12 outputs. */
extern const uint64_t blis__random_cooked[607];

/*
 * Ziggurats: strip i extends to x[i], where the density is f[i]. w[i] scales a 32-bit sample to
 * x[i]. A sample below k[i] is inside the next strip.
 */
extern const uint32_t blis__normal_k[BLIS__NORMAL_STRIPS];
extern const float blis__normal_w[BLIS__NORMAL_STRIPS];
extern const float blis__normal_f[BLIS__NORMAL_STRIPS];
extern const uint32_t blis__exp_k[BLIS__EXP_STRIPS];
extern const float blis__exp_w[BLIS__EXP_STRIPS];
extern const float blis__exp_f[BLIS__EXP_STRIPS];

#endif
