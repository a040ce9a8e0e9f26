/*
 * portable.h - exponentials and logarithms that are bit-identical on every machine.
 *
 * C libraries differ in the last bits of exp, log and pow. The tables of the composed model are
 * built from these functions instead, which use only +, -, *, /, and the exact functions frexp and
 * ldexp. The relative error is below 4e-16 for the arguments that occur (|x| <= 700).
 */
#ifndef BLIS_LATENCY_COMPOSED_PORTABLE_H
#define BLIS_LATENCY_COMPOSED_PORTABLE_H

/* Returns the natural logarithm of x. Requires a finite x > 0. */
double blis__portable_log(double x);

/* Returns e to the power x. Requires |x| <= 700. */
double blis__portable_exp(double x);

/* Returns base to the power exponent. Requires base >= 0; 0 to a power > 0 is 0. */
double blis__portable_power(double base, double exponent);

#endif
