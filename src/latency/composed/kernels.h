/*
 * kernels.h - the time of one GPU kernel in closed form: matrix products, experts,
 * attention, and all-reduces.
 *
 * Every kernel is a launch time plus a smooth maximum of memory and compute time.
 * All times are microseconds, all sizes are per GPU, bandwidths are bytes per
 * microsecond, and peaks are FLOPs per microsecond. The functions build tables when
 * a model is constructed; no step calls them.
 */
#ifndef BLIS_LATENCY_COMPOSED_KERNELS_H
#define BLIS_LATENCY_COMPOSED_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* A fitted kernel: t0 + ((memory / em)^q + (compute / ec)^q)^(1/q). A q above 20 counts as 20. */
typedef struct blis__kernel {
  double t0_us;              /* launch */
  double memory_efficiency;  /* em, share of the bandwidth */
  double compute_efficiency; /* ec, share of the peak */
  double sharpness;          /* q >= 1; the larger, the nearer to a plain maximum */
} blis__kernel;

double blis__kernel_us(const blis__kernel *kernel, double memory_us, double compute_us);

/* The GPU and the format of a kernel. */
typedef struct blis__kernel_rates {
  double bandwidth;        /* bytes per us */
  double peak;             /* FLOPs per us in the format that computes */
  double weight_bytes;     /* per weight, scales included */
  double activation_bytes; /* per element read */
} blis__kernel_rates;

/* Activations (m, k) times weights (k, n); 16-bit results. 0 for an empty product. */
double blis__product_us(const blis__kernel *kernel, const blis__kernel_rates *rates, double m,
                        double n, double k);

/* The routed experts of one layer on one GPU. */
typedef struct blis__expert_shape {
  double experts; /* of the layer */
  double chosen;  /* per token */
  double hidden;  /* width of their input */
  double width;   /* of one expert, on this GPU */
  double local;   /* experts on this GPU */
} blis__expert_shape;

/* The number of distinct experts that `tokens` tokens choose at random, E (1 - (1 - k/E)^n). */
double blis__experts_touched(const blis__expert_shape *shape, double tokens);

/*
 * Up, gate and down products of all experts for `tokens` tokens. Experts compute in tiles of 16 to
 * 128 rows. balance is the weight of evenly spread choices in a geometric mean with random choices
 * (0 = only random).
 */
double blis__experts_us(const blis__kernel *kernel, const blis__kernel_rates *rates,
                        const blis__expert_shape *shape, double tokens, double balance);

enum { BLIS__REDUCE_POINTS_MAX = 32 };

/*
 * An all-reduce of `bytes` bytes over measured points: sizes are 256 bytes and its doublings. Times
 * are log-log between points, flat below the first, proportional above the last.
 */
typedef struct blis__allreduce {
  double times_us[BLIS__REDUCE_POINTS_MAX];
  size_t count;  /* of points; 0 = the closed form */
  double t0_us;  /* closed form: t0 + bytes / rate */
  double rate;   /* bytes per us */
  double factor; /* of all times; 0 = 1 */
} blis__allreduce;

double blis__allreduce_us(const blis__allreduce *reduce, double bytes);

#endif
