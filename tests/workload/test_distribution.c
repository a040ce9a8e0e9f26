/* Length distributions: their rules, their shape, their messages. */
#include "workload/distribution.h"

#include <math.h>
#include <stdbool.h>

#include "check.h"

enum { DRAWS = 100000 };

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PARAMS(...)                                                                                \
  (const blis_distribution_param[]){__VA_ARGS__},                                                  \
      sizeof((const blis_distribution_param[]){__VA_ARGS__}) / sizeof(blis_distribution_param)

static blis_error error;
static blis_alloc heap;

static blis_distribution make(blis_distribution_spec spec) {
  blis_distribution distribution;
  CHECK_OK(blis_distribution_init(&distribution, &heap, &spec, "here", &error), &error);
  return distribution;
}

typedef struct shape {
  double mean;
  double std_dev;
  int64_t min;
  int64_t max;
} shape;

static shape measure(blis_distribution_spec spec) {
  blis_distribution d = make(spec);
  blis_random random;
  blis_random_init(&random, 12);
  shape s = {.min = INT64_MAX, .max = INT64_MIN};
  double squares = 0;
  for (int i = 0; i < DRAWS; i++) {
    int64_t length = blis_distribution_draw(&d, &random);
    s.mean += (double)length / DRAWS;
    squares += (double)length * (double)length / DRAWS;
    s.min = length < s.min ? length : s.min;
    s.max = length > s.max ? length : s.max;
  }
  s.std_dev = sqrt(squares - s.mean * s.mean);
  blis_distribution_deinit(&d, &heap);
  return s;
}

static bool is_near(double value, double expected, double tolerance) {
  return fabs(value - expected) <= tolerance;
}

/* Tolerances are some five standard deviations of the estimate. */
static void moments_are_those_of_the_distribution(void) {
  shape s = measure((blis_distribution_spec){
      "gaussian", PARAMS({"mean", 1000}, {"std_dev", 100}, {"min", 1}, {"max", 100000})});
  CHECK(is_near(s.mean, 1000, 1.6) && is_near(s.std_dev, 100, 1.2));
  s = measure((blis_distribution_spec){"exponential", PARAMS({"mean", 500})});
  CHECK(is_near(s.mean, 500, 8) && is_near(s.std_dev, 500, 12));
  s = measure((blis_distribution_spec){"lognormal", PARAMS({"mu", 6}, {"sigma", 0.5})});
  double lognormal_mean = exp(6 + 0.5 * 0.25);
  CHECK(is_near(s.mean, lognormal_mean, 4));
  CHECK(is_near(s.std_dev, lognormal_mean * sqrt(exp(0.25) - 1), 8));
  /* All weight on a Pareto with alpha 4 and xm 90: mean 4 / 3 * 90. */
  s = measure(
      (blis_distribution_spec){"pareto_lognormal", PARAMS({"alpha", 4}, {"xm", 90}, {"mu", 1},
                                                          {"sigma", 1}, {"mix_weight", 1})});
  CHECK(is_near(s.mean, 120, 1) && s.min == 90);
  s = measure((blis_distribution_spec){"empirical", PARAMS({"10", 1}, {"20", 2}, {"40", 1})});
  CHECK(is_near(s.mean, 22.5, 0.2) && s.min == 10 && s.max == 40);
}

/* How probable a length of at most x is. */
typedef double cdf(double x);

static double normal(double z) {
  return 0.5 * erfc(-z / sqrt(2));
}

static double gaussian_cdf(double x) {
  return normal((x - 1000) / 100);
}

static double exponential_cdf(double x) {
  return 1 - exp(-x / 500);
}

static double lognormal_cdf(double x) {
  return normal((log(x) - 6) / 0.5);
}

/* A third Pareto with alpha 1.5 from 300 on, the rest lognormal. */
static double mixed_cdf(double x) {
  double pareto = x < 300 ? 0 : 1 - pow(300 / x, 1.5);
  return 0.3 * pareto + 0.7 * lognormal_cdf(x);
}

static void check_shape(blis_distribution_spec spec, cdf *expected, const int64_t *lengths,
                        size_t count) {
  blis_distribution d = make(spec);
  for (size_t i = 0; i < count; i++) {
    blis_random random;
    blis_random_init(&random, 5);
    int64_t below = 0;
    for (int n = 0; n < DRAWS; n++) {
      below += blis_distribution_draw(&d, &random) <= lengths[i];
    }
    /* Lengths are rounded: what is below x + 1/2 becomes x or less. */
    double p = expected((double)lengths[i] + 0.5);
    double tolerance = 4.5 * sqrt(p * (1 - p) / DRAWS);
    CHECK(is_near((double)below / DRAWS, p, tolerance));
  }
  blis_distribution_deinit(&d, &heap);
}

static void shares_of_lengths_are_those_of_the_distribution(void) {
  static const int64_t around_1000[] = {767, 872, 1000, 1128, 1233};
  check_shape((blis_distribution_spec){"gaussian", PARAMS({"mean", 1000}, {"std_dev", 100},
                                                          {"min", 1}, {"max", 100000})},
              gaussian_cdf, around_1000, COUNT(around_1000));
  static const int64_t any[] = {10, 53, 180, 347, 600, 1151, 2303, 5000};
  check_shape((blis_distribution_spec){"exponential", PARAMS({"mean", 500})}, exponential_cdf, any,
              COUNT(any));
  check_shape((blis_distribution_spec){"lognormal", PARAMS({"mu", 6}, {"sigma", 0.5})},
              lognormal_cdf, any, COUNT(any));
  check_shape(
      (blis_distribution_spec){"pareto_lognormal", PARAMS({"alpha", 1.5}, {"xm", 300}, {"mu", 6},
                                                          {"sigma", 0.5}, {"mix_weight", 0.3})},
      mixed_cdf, any, COUNT(any));
}

static void bins_are_drawn_by_weight(void) {
  blis_distribution d = make((blis_distribution_spec){
      "empirical", PARAMS({"40", 1}, {"0", 2}, {"7", 0}, {"20", 4}, {"9", 3})});
  static const struct {
    int64_t length;
    double share;
  } bins[] = {{0, 0.2}, {7, 0}, {9, 0.3}, {20, 0.4}, {40, 0.1}};
  for (size_t i = 0; i < COUNT(bins); i++) {
    blis_random random;
    blis_random_init(&random, 8);
    int64_t found = 0;
    for (int n = 0; n < DRAWS; n++) {
      found += blis_distribution_draw(&d, &random) == bins[i].length;
    }
    double p = bins[i].share;
    CHECK(is_near((double)found / DRAWS, p, 4.5 * sqrt(p * (1 - p) / DRAWS)));
  }
  blis_distribution_deinit(&d, &heap);
}

static void lengths_stay_in_their_range(void) {
  shape s = measure((blis_distribution_spec){
      "gaussian", PARAMS({"mean", 10}, {"std_dev", 50}, {"min", -5.5}, {"max", 40.9})});
  CHECK(s.min == 1 && s.max == 40);
  s = measure(
      (blis_distribution_spec){"exponential", PARAMS({"mean", 30}, {"min", 4.9}, {"max", 50.2})});
  CHECK(s.min == 4 && s.max == 50);
  s = measure(
      (blis_distribution_spec){"exponential", PARAMS({"mean", 0.1}, {"min", -1}, {"max", 0})});
  CHECK(s.min == 1 && s.max <= 2);
  s = measure((blis_distribution_spec){"lognormal",
                                       PARAMS({"mu", 3}, {"sigma", 2}, {"min", 5}, {"max", 100})});
  CHECK(s.min == 5 && s.max == 100);
}

/* What is left of the stream after 10 draws tells how many numbers they took.
 */
static void check_numbers_taken(blis_distribution_spec spec, int numbers, int64_t length) {
  blis_distribution d = make(spec);
  CHECK(blis_distribution_needs_random(&d) == (numbers > 0));
  blis_random drawn;
  blis_random plain;
  blis_random_init(&drawn, 3);
  blis_random_init(&plain, 3);
  for (int i = 0; i < 10; i++) {
    int64_t got = blis_distribution_draw(&d, &drawn);
    CHECK(length < 0 || got == length);
    for (int k = 0; k < numbers; k++) {
      blis_random_float64(&plain);
    }
  }
  CHECK(blis_random_uint64(&drawn) == blis_random_uint64(&plain));
  blis_distribution_deinit(&d, &heap);
}

static void nothing_is_drawn_when_the_length_is_known(void) {
  check_numbers_taken((blis_distribution_spec){"constant", PARAMS({"value", 7.9})}, 0, 7);
  check_numbers_taken((blis_distribution_spec){"constant", PARAMS({"value", 0})}, 0, 1);
  check_numbers_taken((blis_distribution_spec){"gaussian", PARAMS({"mean", 5}, {"std_dev", 2},
                                                                  {"min", 9.2}, {"max", 9.8})},
                      0, 9);
  check_numbers_taken((blis_distribution_spec){"gaussian", PARAMS({"mean", 5}, {"std_dev", 2},
                                                                  {"min", 0}, {"max", 0})},
                      0, 0);
  check_numbers_taken((blis_distribution_spec){"empirical", PARAMS({"4", 0}, {"12", 2})}, 0, 12);
  check_numbers_taken((blis_distribution_spec){"empirical", PARAMS({"4", 0})}, 0, 1);
  check_numbers_taken((blis_distribution_spec){"empirical", PARAMS({"0", 1}, {"9", 1})}, 1, -1);
  /* Pareto draws two uniform numbers. */
  check_numbers_taken(
      (blis_distribution_spec){"pareto_lognormal", PARAMS({"alpha", 2}, {"xm", 10}, {"mu", 1},
                                                          {"sigma", 1}, {"mix_weight", 1})},
      2, -1);
}

static void values_beyond_all_bounds_stay_defined(void) {
  shape s = measure((blis_distribution_spec){"constant", PARAMS({"value", 1e300})});
  CHECK(s.min == INT64_MAX);
  s = measure((blis_distribution_spec){"lognormal", PARAMS({"mu", 1e6}, {"sigma", 1}, {"min", 3})});
  CHECK(s.min == 3 && s.max == 3); /* exp overflows */
  s = measure((blis_distribution_spec){"exponential", PARAMS({"mean", 1e300}, {"max", 20})});
  CHECK(s.max == 20);
}

typedef struct bad_spec {
  blis_distribution_spec spec;
  const char *message;
} bad_spec;

static void wrong_parameters_are_named(void) {
  const bad_spec cases[] = {
      {{NULL, NULL, 0}, "here: unknown type ''; known are gaussian"},
      {{"gausian", NULL, 0}, "did you mean 'gaussian'?"},
      {{"gaussian", PARAMS({"mean", 5}, {"std_dev", 2}, {"min", 1})},
       "here: gaussian needs the parameter 'max'"},
      {{"gaussian", PARAMS({"mean", 5}, {"std_dev", 2}, {"min", 9}, {"max", 3})},
       "here: min is 9 and max 3"},
      {{"gaussian", PARAMS({"mean", 5}, {"std_dev", -2}, {"min", 1}, {"max", 3})},
       "here: std_dev is -2; it must be a finite number, at least 0"},
      {{"gaussian", PARAMS({"mean", 5}, {"std_dev", 2}, {"min", -9}, {"max", -9})},
       "here: max is -9"},
      {{"exponential", PARAMS({"mean", 5}, {"min", 10}, {"max", 5})}, "here: min is 10 and max 5"},
      {{"exponential", PARAMS({"mean", 5}, {"rate", 10})},
       "here: exponential has no parameter 'rate'; known are mean, min, max"},
      {{"exponential", PARAMS({"mean", 5}, {"mn", 10})}, "did you mean 'min'?"},
      {{"lognormal", PARAMS({"mu", 5}, {"sigma", NAN})}, "here: sigma is"},
      {{"lognormal", PARAMS({"mu", INFINITY}, {"sigma", 1})},
       "here: mu is inf; it must be a finite number"},
      {{"pareto_lognormal",
        PARAMS({"alpha", 0}, {"xm", 1}, {"mu", 1}, {"sigma", 1}, {"mix_weight", 0.5})},
       "here: alpha is 0; it must be a finite number above 0"},
      {{"pareto_lognormal",
        PARAMS({"alpha", 1}, {"xm", 1}, {"mu", 1}, {"sigma", 1}, {"mix_weight", 1.5})},
       "here: mix_weight is 1.5; it must be a number from 0 to 1"},
      {{"constant", NULL, 0}, "here: constant needs the parameter 'value'"},
      {{"constant", PARAMS({"value", -3})},
       "here: value is -3; it must be a finite number, at least 0"},
      {{"empirical", NULL, 0}, "here: empirical needs at least one length"},
      {{"empirical", PARAMS({"12abc", 1})}, "'12abc' is not a length"},
      {{"empirical", PARAMS({"-3", 1})}, "'-3' is not a length"},
      {{"empirical", PARAMS({"99999999999999999999", 1})}, "is not a length"},
      {{"empirical", PARAMS({"3", 1}, {"03", 1})}, "here: the length 3 is given twice"},
      {{"empirical", PARAMS({"3", -1})}, "here: 3 is -1; it must be"},
  };
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_distribution distribution;
    CHECK_STATUS(blis_distribution_init(&distribution, &alloc, &cases[i].spec, "here", &error),
                 BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].message);
  }
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void bins_may_come_in_any_order(void) {
  blis_distribution_spec specs[] = {
      {"empirical", PARAMS({"5", 1}, {"10", 2}, {"900", 1}, {"1000", 4})},
      {"empirical", PARAMS({"900", 1}, {"1000", 4}, {"10", 2}, {"5", 1})}};
  blis_distribution distributions[] = {make(specs[0]), make(specs[1])};
  blis_random randoms[2];
  blis_random_init(&randoms[0], 1);
  blis_random_init(&randoms[1], 1);
  for (int i = 0; i < 1000; i++) {
    CHECK_EQ_I64(blis_distribution_draw(&distributions[0], &randoms[0]),
                 blis_distribution_draw(&distributions[1], &randoms[1]));
  }
  blis_distribution_deinit(&distributions[0], &heap);
  blis_distribution_deinit(&distributions[1], &heap);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(moments_are_those_of_the_distribution);
  RUN(shares_of_lengths_are_those_of_the_distribution);
  RUN(bins_are_drawn_by_weight);
  RUN(lengths_stay_in_their_range);
  RUN(nothing_is_drawn_when_the_length_is_known);
  RUN(values_beyond_all_bounds_stay_defined);
  RUN(wrong_parameters_are_named);
  RUN(bins_may_come_in_any_order);
  return check_done();
}
