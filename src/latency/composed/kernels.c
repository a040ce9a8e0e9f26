#include "latency/composed/kernels.h"

#include <math.h>

#include "base/invariant.h"
#include "latency/composed/portable.h"

#define SHARPNESS_MAX 20.0

/* Number of rows in a tile of experts. */
#define TILE_MIN 16.0
#define TILE_MAX 128.0

#define FIRST_POINT_BYTES 256.0

double blis__kernel_us(const blis__kernel *kernel, double memory_us, double compute_us) {
  double memory = memory_us / kernel->memory_efficiency;
  double compute = compute_us / kernel->compute_efficiency;
  double more = fmax(memory, compute);
  double less = fmin(memory, compute);
  if (more <= 0) {
    return kernel->t0_us;
  }
  double q = fmin(kernel->sharpness, SHARPNESS_MAX);
  double sum = 1 + blis__portable_power(less / more, q);
  return kernel->t0_us + more * blis__portable_power(sum, 1 / q);
}

double blis__product_us(const blis__kernel *kernel, const blis__kernel_rates *rates, double m,
                        double n, double k) {
  if (m <= 0 || n <= 0 || k <= 0) {
    return 0;
  }
  double bytes = rates->weight_bytes * n * k + rates->activation_bytes * m * k + 2 * m * n;
  return blis__kernel_us(kernel, bytes / rates->bandwidth, 2 * m * n * k / rates->peak);
}

double blis__experts_touched(const blis__expert_shape *shape, double tokens) {
  double share = shape->chosen / shape->experts;
  if (share >= 1) {
    return shape->experts;
  }
  double exponent = fmax(tokens * blis__portable_log(1 - share), -700);
  return shape->experts * (1 - blis__portable_exp(exponent));
}

static double tile_of(double rows) {
  double tile = TILE_MIN;
  while (tile < TILE_MAX && tile < rows) {
    tile *= 2;
  }
  return tile;
}

static double experts_us(const blis__kernel *kernel, const blis__kernel_rates *rates,
                         const blis__expert_shape *shape, double tokens, double touched) {
  double share = shape->local / shape->experts;
  double rows = tokens * shape->chosen * share;
  double active = fmax(1, share * touched);
  double rows_of_one = fmax(1, rows / active);
  double bytes = 3 * shape->hidden * shape->width * rates->weight_bytes * active +
                 rows * (4 * shape->hidden + 6 * shape->width);
  double flops =
      6 * shape->hidden * shape->width * active * (rows_of_one + tile_of(rows_of_one) / 2);
  return blis__kernel_us(kernel, bytes / rates->bandwidth, flops / rates->peak);
}

double blis__experts_us(const blis__kernel *kernel, const blis__kernel_rates *rates,
                        const blis__expert_shape *shape, double tokens, double balance) {
  BLIS_ASSERT(balance >= 0 && balance <= 1);
  if (tokens <= 0) {
    return 0;
  }
  double random = experts_us(kernel, rates, shape, tokens, blis__experts_touched(shape, tokens));
  if (balance == 0) {
    return random;
  }
  double balanced =
      experts_us(kernel, rates, shape, tokens, fmin(shape->experts, tokens * shape->chosen));
  return blis__portable_exp((1 - balance) * blis__portable_log(random) +
                            balance * blis__portable_log(balanced));
}

static double reduce_us(const blis__allreduce *reduce, double bytes) {
  if (reduce->count == 0) {
    return reduce->t0_us + bytes / reduce->rate;
  }
  double place = blis__portable_log(fmax(bytes, FIRST_POINT_BYTES) / FIRST_POINT_BYTES) /
                 blis__portable_log(2);
  size_t last = reduce->count - 1;
  if (place >= (double)last) {
    double last_bytes = ldexp(FIRST_POINT_BYTES, (int)last);
    return reduce->times_us[last] * fmax(bytes / last_bytes, 1);
  }
  size_t below = (size_t)place;
  double from = blis__portable_log(reduce->times_us[below]);
  double to = blis__portable_log(reduce->times_us[below + 1]);
  return blis__portable_exp(from + (to - from) * (place - (double)below));
}

double blis__allreduce_us(const blis__allreduce *reduce, double bytes) {
  return reduce_us(reduce, bytes) * (reduce->factor > 0 ? reduce->factor : 1);
}
