/*
 * portable.h - exponentials and logarithms that have the same bits on every machine.
 *
 * C libraries differ in the last bits of exp, log and pow. The tables of the composed model are
 * built from these functions instead, which use only +, -, *, / and the exact frexp and ldexp. The
 * error is below 4e-16 times the result for arguments that occur (|x| <= 700).
 */
#ifndef BLIS_LATENCY_COMPOSED_PORTABLE_H
#define BLIS_LATENCY_COMPOSED_PORTABLE_H

/* The natural logarithm of x. Requires a finite x > 0. */
double blis__portable_log(double x);

/* e to the power x. Requires |x| <= 700. */
double blis__portable_exp(double x);

/* base to the power exponent. Requires base >= 0; 0 to a power > 0 is 0. */
double blis__portable_power(double base, double exponent);

#endif
