/*
 * kernels.h - the time of one GPU kernel in closed form: matrix products, experts,
 * attention, and all-reduces.
 *
 * Every kernel is a launch time plus a smooth maximum of memory and compute time. All times are
 * microseconds, all sizes are per GPU, bandwidths are bytes per microsecond, and peaks are FLOPs
 * per microsecond. The functions are called only to build tables when a model is constructed, not
 * in steps.
 */
#ifndef BLIS_LATENCY_COMPOSED_KERNELS_H
#define BLIS_LATENCY_COMPOSED_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* A fitted kernel: t0 + ((memory / em)^q + (compute / ec)^q)^(1/q). A q above 20 counts as 20. */
typedef struct blis__kernel {
  double t0_us;              /* launch time */
  double memory_efficiency;  /* em, fraction of the bandwidth */
  double compute_efficiency; /* ec, fraction of the peak */
  double sharpness;          /* q >= 1; larger values are closer to a plain maximum */
} blis__kernel;

double blis__kernel_us(const blis__kernel *kernel, double memory_us, double compute_us);

/* The GPU and the format of a kernel. */
typedef struct blis__kernel_rates {
  double bandwidth;        /* bytes per us */
  double peak;             /* FLOPs per us in the compute format */
  double weight_bytes;     /* per weight, including scales */
  double activation_bytes; /* per element that is read */
} blis__kernel_rates;

/*
 * Returns the time of activations (m, k) times weights (k, n) with 16-bit results. 0 for an empty
 * product.
 */
double blis__product_us(const blis__kernel *kernel, const blis__kernel_rates *rates, double m,
                        double n, double k);

/* The routed experts of one layer on one GPU. */
typedef struct blis__expert_shape {
  double experts; /* number of experts in the layer */
  double chosen;  /* experts chosen per token */
  double hidden;  /* width of their input */
  double width;   /* width of one expert on this GPU */
  double local;   /* number of experts on this GPU */
} blis__expert_shape;

/*
 * Returns the expected number of distinct experts that `tokens` tokens choose at random: E (1 - (1
 * - k/E)^n).
 */
double blis__experts_touched(const blis__expert_shape *shape, double tokens);

/*
 * Returns the time of the up, gate, and down products of all experts for `tokens` tokens. Experts
 * compute in tiles of 16 to 128 rows. The result is a geometric mean of evenly spread and random
 * choices of experts. balance is the weight of the evenly spread choices (0 = only random).
 */
double blis__experts_us(const blis__kernel *kernel, const blis__kernel_rates *rates,
                        const blis__expert_shape *shape, double tokens, double balance);

enum { BLIS__REDUCE_POINTS_MAX = 32 };

/*
 * The time of an all-reduce as measured points at 256 bytes and each doubling of it. Times are
 * interpolated log-log between points, constant below the first point, and proportional to the size
 * above the last point.
 */
typedef struct blis__allreduce {
  double times_us[BLIS__REDUCE_POINTS_MAX];
  size_t count;  /* number of points; 0 = closed form */
  double t0_us;  /* closed form: t0 + bytes / rate */
  double rate;   /* bytes per us */
  double factor; /* factor on all times; 0 means 1 */
} blis__allreduce;

double blis__allreduce_us(const blis__allreduce *reduce, double bytes);

#endif
