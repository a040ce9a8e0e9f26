/* Arrival processes: mean, unevenness, limits and messages. */
#include "workload/arrival.h"

#include <math.h>

#include "check.h"

enum { DRAWS = 100000 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static blis_error error;

typedef struct expectation {
  blis_arrival_spec spec;
  double rate_per_us;
  double mean_us;
  double cv;
  double tolerance; /* of both, relative */
} expectation;

static void gaps_have_the_mean_and_unevenness_asked_for(void) {
  static const expectation cases[] = {
      {{.process = "constant"}, 1e-3, 1000, 0, 0.001},
      {{.process = "constant"}, 0.0007, 1428, 0, 0.001},
      {{.process = "poisson"}, 1e-4, 10000, 1, 0.02},
      {{.process = "gamma"}, 1e-4, 10000, 1, 0.02},
      {{.process = "gamma", .cv = 0.5, .has_cv = true}, 1e-4, 10000, 0.5, 0.02},
      {{.process = "gamma", .cv = 2, .has_cv = true}, 1e-5, 100000, 2, 0.04},
      {{.process = "gamma", .cv = 11, .has_cv = true}, 1e-4, 10000, 1, 0.02},
      {{.process = "gamma", .shape = 4, .scale = 500, .has_shape = true, .has_scale = true},
       1e-9,
       2000,
       0.5,
       0.02},
      {{.process = "weibull"}, 1e-4, 10000, 1, 0.02},
      {{.process = "weibull", .cv = 0.5, .has_cv = true}, 1e-4, 10000, 0.5, 0.02},
      {{.process = "weibull", .cv = 2, .has_cv = true}, 1e-5, 100000, 2, 0.04},
      {{.process = "weibull",
        .cv = 100, /* not used, so not checked */
        .shape = 1,
        .scale = 500,
        .has_cv = true,
        .has_shape = true,
        .has_scale = true},
       1e-9,
       500,
       1,
       0.02},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    CHECK_OK(blis_arrival_check(&cases[i].spec, "here", &error), &error);
    blis_arrival arrival;
    blis_arrival_init(&arrival, &cases[i].spec, cases[i].rate_per_us);
    blis_random random;
    blis_random_init(&random, 21);
    double mean = 0;
    double squares = 0;
    for (int n = 0; n < DRAWS; n++) {
      double gap = (double)blis_arrival_draw(&arrival, &random);
      CHECK(gap >= 1);
      mean += gap / DRAWS;
      squares += gap * gap / DRAWS;
    }
    double cv = sqrt(fmax(0, squares - mean * mean)) / mean;
    CHECK(fabs(mean - cases[i].mean_us) <= cases[i].mean_us * cases[i].tolerance);
    CHECK(fabs(cv - cases[i].cv) <= fmax(cases[i].cv, 1) * cases[i].tolerance);
  }
}

/* How probable a gap of at most x means is. */
typedef double cdf(double x);

static double exponential_cdf(double x) {
  return 1 - exp(-x);
}

/* Of a cv of 1 / sqrt(2): shape 2. */
static double gamma_2_cdf(double x) {
  return 1 - exp(-2 * x) * (1 + 2 * x);
}

/* Of a cv of sqrt(2): shape 1/2, below one. */
static double gamma_half_cdf(double x) {
  return erf(sqrt(x / 2));
}

/* Of shape 2 and scale 1 mean. */
static double weibull_2_cdf(double x) {
  return 1 - exp(-x * x);
}

static void check_gaps(blis_arrival_spec spec, cdf *expected) {
  static const double shares_of_mean[] = {0.05, 0.2, 0.5, 0.8, 1, 1.3, 1.8, 2.5, 4};
  enum { MEAN_US = 1000000 };
  blis_arrival arrival;
  blis_arrival_init(&arrival, &spec, 1.0 / MEAN_US);
  for (size_t i = 0; i < COUNT(shares_of_mean); i++) {
    blis_random random;
    blis_random_init(&random, 17);
    int64_t below = 0;
    for (int n = 0; n < DRAWS; n++) {
      below += (double)blis_arrival_draw(&arrival, &random) < shares_of_mean[i] * MEAN_US;
    }
    double p = expected(shares_of_mean[i]);
    double tolerance = 4.5 * sqrt(p * (1 - p) / DRAWS) + 1e-5;
    CHECK(fabs((double)below / DRAWS - p) <= tolerance);
  }
}

static void shares_of_gaps_are_those_of_the_process(void) {
  check_gaps((blis_arrival_spec){.process = "poisson"}, exponential_cdf);
  check_gaps((blis_arrival_spec){.process = "gamma"}, exponential_cdf);
  check_gaps((blis_arrival_spec){.process = "gamma", .cv = sqrt(0.5), .has_cv = true}, gamma_2_cdf);
  check_gaps((blis_arrival_spec){.process = "gamma", .cv = sqrt(2), .has_cv = true},
             gamma_half_cdf);
  check_gaps(
      (blis_arrival_spec){
          .process = "weibull", .shape = 2, .scale = 1e6, .has_shape = true, .has_scale = true},
      weibull_2_cdf);
}

static void numbers_that_do_not_count_are_told(void) {
  static const struct {
    blis_arrival_spec spec;
    const char *part; /* NULL = everything counts */
  } cases[] = {
      {{.process = "poisson"}, NULL},
      {{.process = "poisson", .cv = 1, .has_cv = true}, "no effect on poisson"},
      {{.process = "constant", .scale = 1, .has_scale = true}, "no effect on"},
      {{.process = "gamma", .cv = 1, .has_cv = true}, NULL},
      {{.process = "gamma", .shape = 1, .has_shape = true}, "no effect unless both are given"},
      {{.process = "weibull", .scale = 1, .has_scale = true}, "no effect unless both are given"},
      {{.process = "weibull", .shape = 1, .scale = 1, .has_shape = true, .has_scale = true}, NULL},
      {{.process = "nosuch", .cv = 1, .has_cv = true}, NULL},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    const char *text = blis_arrival_unused(&cases[i].spec);
    CHECK((text == NULL) == (cases[i].part == NULL));
    if (text != NULL) {
      CHECK_CONTAINS(text, cases[i].part);
    }
  }
}

static void gaps_are_never_below_one_nor_undefined(void) {
  static const double rates[] = {0, -1, 1e-300, 1e-15, 5, 1e300};
  static const char *const processes[] = {"poisson", "constant", "gamma", "weibull"};
  for (size_t p = 0; p < COUNT(processes); p++) {
    for (size_t i = 0; i < COUNT(rates); i++) {
      blis_arrival_spec spec = {.process = processes[p]};
      blis_arrival arrival;
      blis_arrival_init(&arrival, &spec, rates[i]);
      blis_random random;
      blis_random_init(&random, 1);
      for (int n = 0; n < 1000; n++) {
        CHECK(blis_arrival_draw(&arrival, &random) >= 1);
      }
    }
  }
  blis_arrival_spec endless = {
      .process = "gamma", .shape = 1, .scale = 1e300, .has_shape = true, .has_scale = true};
  blis_arrival arrival;
  blis_arrival_init(&arrival, &endless, 1);
  blis_random random;
  blis_random_init(&random, 1);
  CHECK_EQ_I64(blis_arrival_draw(&arrival, &random), INT64_MAX);
}

static void wrong_numbers_are_named(void) {
  static const struct {
    blis_arrival_spec spec;
    const char *message;
  } cases[] = {
      {{.process = NULL}, "here: unknown process ''; known are poisson"},
      {{.process = "uniform"}, "here: unknown process 'uniform'"},
      {{.process = "gamma", .cv = 0, .has_cv = true},
       "here: cv is 0; it must be a finite number above 0"},
      {{.process = "gamma", .cv = INFINITY, .has_cv = true}, "here: cv is inf"},
      {{.process = "gamma", .shape = -1, .has_shape = true}, "here: shape is -1"},
      {{.process = "weibull", .scale = NAN, .has_scale = true}, "here: scale is"},
      {{.process = "weibull", .cv = 10.5, .has_cv = true},
       "here: cv is 10.5; for weibull it must be from 0.01 to 10.4"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    CHECK_STATUS(blis_arrival_check(&cases[i].spec, "here", &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].message);
  }
}

static void too_uneven_gaps_have_a_note(void) {
  static const struct {
    blis_arrival_spec spec;
    const char *note; /* NULL = none */
  } cases[] = {
      {{.process = "gamma", .cv = 20, .has_cv = true},
       "here: gamma with cv 20 is too bursty to sample; using poisson"},
      {{.process = "gamma", .shape = 0.001, .scale = 1, .has_shape = true, .has_scale = true},
       "here: gamma with shape 0.001 is too bursty"},
      {{.process = "gamma", .cv = 10, .has_cv = true}, NULL},
      {{.process = "gamma"}, NULL},
      {{.process = "weibull", .cv = 10.4, .has_cv = true}, NULL},
      {{.process = NULL}, NULL},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    blis_arrival_note note;
    bool has_note = blis_arrival_get_note(&cases[i].spec, "here", &note);
    CHECK_EQ_I64(has_note, cases[i].note != NULL);
    if (has_note) {
      CHECK_CONTAINS(note.text, cases[i].note);
    }
  }
}

int main(void) {
  RUN(gaps_have_the_mean_and_unevenness_asked_for);
  RUN(shares_of_gaps_are_those_of_the_process);
  RUN(numbers_that_do_not_count_are_told);
  RUN(gaps_are_never_below_one_nor_undefined);
  RUN(wrong_numbers_are_named);
  RUN(too_uneven_gaps_have_a_note);
  return check_done();
}
