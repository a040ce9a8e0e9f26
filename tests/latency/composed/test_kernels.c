/* Kernel times in closed form: worked values, limits, and portable arithmetic. */
#include <math.h>

#include "base/random.h"
#include "check.h"
#include "latency/composed/kernels.h"
#include "latency/composed/portable.h"

#define H100_B 3.35e6
#define H200_B 4.8e6
#define B200_B 8.0e6
#define H100_P 989.5e6
#define B200_P 2250e6

static const blis__kernel HOPPER_16 = {4.59, 0.8815, 0.8068, 5.152};
static const blis__kernel HOPPER_FP8 = {5.82, 0.9012, 0.6310, 1.707};
static const blis__kernel HOPPER_FP8_BLOCK = {15.59, 0.8069, 0.5111, 20};
static const blis__kernel B200_FP8 = {6.57, 0.6192, 0.3197, 20};
static const blis__kernel B200_NVFP4 = {6.73, 0.5125, 0.4965, 3.581};
static const blis__kernel EXPERTS_16 = {26.6, 0.926, 0.5035, 1.455};
static const blis__kernel EXPERTS_FP8_BLOCK = {43.62, 0.9216, 0.2723, 1.5115};
static const blis__kernel EXPERTS_MXFP4 = {63.44, 0.6475, 0.6396, 1};

static const blis__kernel_rates H100_16 = {H100_B, H100_P, 2, 2};
static const blis__kernel_rates H100_8 = {H100_B, 2 * H100_P, 1, 1};
static const blis__kernel_rates H200_8 = {H200_B, 2 * H100_P, 1, 1};
static const blis__kernel_rates H200_MXFP4 = {H200_B, H100_P, 0.53125, 0.53125};
static const blis__kernel_rates B200_8 = {B200_B, 2 * B200_P, 1, 1};
static const blis__kernel_rates B200_4 = {B200_B, 4 * B200_P, 0.5625, 2};

static void check_near(double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance * expected)) {
    check_fail(__FILE__, __LINE__, "got %.6g, expected %.6g", got, expected);
  }
}

static void test_worked_products(void) {
  check_near(blis__product_us(&HOPPER_16, &H100_16, 16, 6144, 4096), 21.75, 0.001);
  check_near(blis__product_us(&HOPPER_16, &H100_16, 8192, 6144, 4096), 521.1, 0.001);
  check_near(blis__product_us(&HOPPER_FP8, &H100_8, 16, 28672, 8192), 84.54, 0.001);
  check_near(blis__product_us(&HOPPER_FP8, &H200_8, 16, 28672, 8192), 61.10, 0.001);
  check_near(blis__product_us(&HOPPER_FP8_BLOCK, &H100_8, 64, 3072, 4096), 20.49, 0.001);
  check_near(blis__product_us(&B200_NVFP4, &B200_4, 64, 16384, 8192), 25.93, 0.001);
  check_near(blis__product_us(&B200_FP8, &B200_8, 8192, 16384, 8192), 1535, 0.001);
  CHECK(blis__product_us(&HOPPER_16, &H100_16, 0, 6144, 4096) == 0);
}

static void test_worked_experts(void) {
  const blis__expert_shape mixtral = {8, 2, 4096, 7168, 8};
  const blis__expert_shape minimax = {256, 8, 3072, 384, 256};
  const blis__expert_shape gpt_oss = {128, 4, 2880, 2880, 128};
  check_near(blis__experts_touched(&minimax, 64), 222.4, 0.001);
  check_near(blis__experts_touched(&mixtral, 16), 7.92, 0.001);
  check_near(blis__experts_touched(&gpt_oss, 32), 81.7, 0.001);
  check_near(blis__experts_us(&EXPERTS_16, &H100_16, &mixtral, 16, 0), 484.1, 0.002);
  check_near(blis__experts_us(&EXPERTS_FP8_BLOCK, &H200_8, &minimax, 64, 0), 231.2, 0.001);
  check_near(blis__experts_us(&EXPERTS_FP8_BLOCK, &H200_8, &minimax, 8192, 0), 1286, 0.001);
  check_near(blis__experts_us(&EXPERTS_FP8_BLOCK, &H200_8, &minimax, 64, 0.10), 233.7, 0.001);
  check_near(blis__experts_us(&EXPERTS_MXFP4, &H200_MXFP4, &gpt_oss, 32, 0), 473.4, 0.001);
  check_near(blis__experts_us(&EXPERTS_MXFP4, &H200_MXFP4, &gpt_oss, 4096, 0), 2692, 0.001);
  CHECK(blis__experts_us(&EXPERTS_16, &H100_16, &mixtral, 0, 0) == 0);
}

static void test_every_token_chooses_every_expert(void) {
  const blis__expert_shape all = {4, 4, 64, 64, 4};
  check_near(blis__experts_touched(&all, 1), 4, 1e-12);
  CHECK(blis__experts_touched(&(blis__expert_shape){256, 1, 64, 64, 256}, 1e9) == 256);
}

static void test_worked_allreduces(void) {
  const blis__allreduce two = {.times_us = {4.27, 4.25, 4.23, 4.22, 4.35, 4.36, 4.41,
                                            4.41, 4.52, 4.75, 5.16, 6.29, 8.3,  12.4,
                                            20.2, 45.5, 82.3, 158,  247,  465},
                               .count = 20};
  const blis__allreduce four = {.times_us = {4.58, 4.51, 4.52, 4.53, 4.65, 4.77, 4.86,
                                             4.85, 5.23, 5.83, 7.12, 11.2, 12.6, 18.5,
                                             30.4, 53.2, 98.8, 174,  325,  616},
                                .count = 20};
  const blis__allreduce closed = {.t0_us = 4.3, .rate = 290e3};
  check_near(blis__allreduce_us(&two, 131072), 4.75, 1e-9);
  check_near(blis__allreduce_us(&four, 1572864), 15.77, 0.001);
  check_near(blis__allreduce_us(&two, 134217728), 465, 1e-9);
  check_near(blis__allreduce_us(&two, 2 * 134217728.0), 930, 1e-9);
  check_near(blis__allreduce_us(&two, 1), 4.27, 1e-9);
  check_near(blis__allreduce_us(&closed, 290e3), 5.3, 1e-9);
}

static double draw(blis_random *random, double least, double most) {
  return least * blis__portable_power(most / least, blis_random_float64(random));
}

/* More work never takes less time, and no kernel beats its rates. */
static void test_kernels_are_monotone_and_bounded(void) {
  static const blis__kernel *const KERNELS[] = {&HOPPER_16, &HOPPER_FP8, &B200_FP8, &B200_NVFP4,
                                                &EXPERTS_MXFP4};
  blis_random random;
  blis_random_init(&random, 20261128);
  for (int i = 0; i < 20000; i++) {
    const blis__kernel *kernel = KERNELS[i % 5];
    double memory = draw(&random, 1e-3, 1e5);
    double compute = draw(&random, 1e-3, 1e5);
    double time = blis__kernel_us(kernel, memory, compute);
    CHECK(time >= fmax(memory, compute));
    CHECK(blis__kernel_us(kernel, memory * 1.01, compute) >= time);
    CHECK(blis__kernel_us(kernel, memory, compute * 1.01) >= time);
  }
}

static void test_portable_functions_agree_with_the_library(void) {
  blis_random random;
  blis_random_init(&random, 1);
  for (int i = 0; i < 100000; i++) {
    double x = (blis_random_float64(&random) - 0.5) * 1400;
    check_near(blis__portable_exp(x), exp(x), 4e-16 * (1 + fabs(x)));
    double y = exp(x / 2);
    CHECK(fabs(blis__portable_log(y) - log(y)) <= 4e-16 * fmax(1, fabs(log(y))));
  }
  CHECK(blis__portable_log(1) == 0);
  CHECK(blis__portable_exp(0) == 1);
  CHECK(blis__portable_power(0, 3) == 0);
  check_near(blis__portable_power(2, 10), 1024, 1e-14);
}

int main(void) {
  RUN(test_worked_products);
  RUN(test_worked_experts);
  RUN(test_every_token_chooses_every_expert);
  RUN(test_worked_allreduces);
  RUN(test_kernels_are_monotone_and_bounded);
  RUN(test_portable_functions_agree_with_the_library);
  return check_done();
}
