/*
 * Saturation detectors and usage limits: the worked examples of their sources.
 */
#include "check.h"
#include "policy/registry.h"

static blis_alloc heap;

static const blis_policy_context context = {.instance_count = 2};

static double saturation_of(const char *name, const blis_param *items, size_t count,
                            const blis_saturation_look *look) {
  const blis_params params = {items, count};
  blis_saturation detector;
  blis_error error;
  CHECK_OK(blis_saturation_create(&heap, name, &params, &context, &detector, &error), &error);
  double saturation = -1;
  CHECK_OK(detector.ops->value(detector.state, look, &saturation, &error), &error);
  blis_saturation_free(&detector);
  return saturation;
}

static void test_utilization(void) {
  const double queue[] = {2, 6};
  const double kv[] = {0.5, 0.1};
  double age_us[] = {0, 200000};
  blis_saturation_look look = {
      .count = 2, .queue_depth = queue, .kv_utilization = kv, .age_us = age_us};
  CHECK_EQ_DOUBLE(saturation_of("utilization", NULL, 0, &look), (0.625 + 1.2) / 2);
  age_us[1] = 200001; // too old
  CHECK_EQ_DOUBLE(saturation_of("utilization", NULL, 0, &look), (0.625 + 1) / 2);
  look.age_us = NULL;
  CHECK_EQ_DOUBLE(saturation_of("utilization-detector", NULL, 0, &look), (0.625 + 1.2) / 2);
  look.count = 0;
  CHECK_EQ_DOUBLE(saturation_of("utilization", NULL, 0, &look), 1);
  CHECK_EQ_DOUBLE(saturation_of("concurrency", NULL, 0, &look), 1);
  CHECK_EQ_DOUBLE(saturation_of("never", NULL, 0, &look), 0);
}

static void test_concurrency(void) {
  const double in_flight[] = {50, 10};
  const double tokens[] = {100000, 900000};
  const blis_saturation_look look = {
      .count = 2, .in_flight = in_flight, .in_flight_tokens = tokens};
  CHECK_EQ_DOUBLE(saturation_of("concurrency", NULL, 0, &look), 0.3);
  const blis_param by_tokens = {.name = "mode", .text = "tokens"};
  CHECK_EQ_DOUBLE(saturation_of("concurrency", &by_tokens, 1, &look), 0.5);
  const blis_param hybrid = {.name = "mode", .text = "hybrid"};
  CHECK_EQ_DOUBLE(saturation_of("concurrency", &hybrid, 1, &look), 0.7);
}

static blis_usage_limit limit_of(const char *name, const blis_param *items, size_t count) {
  const blis_params params = {items, count};
  blis_usage_limit limit;
  blis_error error;
  CHECK_OK(blis_usage_limit_create(&heap, name, &params, &context, &limit, &error), &error);
  return limit;
}

static void check_ceilings(blis_usage_limit *limit, double saturation, const int32_t *priorities,
                           size_t count, const double *wanted) {
  double ceilings[8];
  blis_error error;
  CHECK_OK(limit->ops->ceilings(limit->state, saturation, priorities, count, ceilings, &error),
           &error);
  for (size_t i = 0; i < count; i++) {
    CHECK(ceilings[i] - wanted[i] < 1e-12 && wanted[i] - ceilings[i] < 1e-12);
  }
}

static void test_holdback(void) {
  static const int32_t bands[] = {4, 3, -2};
  const blis_param rank[] = {{.name = "min_ceiling", .number = 0.4}};
  blis_usage_limit limit = limit_of("priority-holdback", rank, 1);
  check_ceilings(&limit, 0, bands, 3, (double[]){1, 0.7, 0.4});
  check_ceilings(&limit, 0, bands, 1, (double[]){1});
  // An empty band between two shifts the ranks.
  check_ceilings(&limit, 0, (int32_t[]){10, 0}, 2, (double[]){1, 0.4});
  check_ceilings(&limit, 0, (int32_t[]){10, 5, 0}, 3, (double[]){1, 0.7, 0.4});
  blis_usage_limit_free(&limit);
  const blis_param value[] = {{.name = "min_ceiling", .number = 0.4},
                              {.name = "mode", .text = "value"}};
  limit = limit_of("priority-holdback", value, 2);
  check_ceilings(&limit, 0, bands, 3, (double[]){1, 0.9, 0.4});
  blis_usage_limit_free(&limit);
}

static void test_static_and_linear(void) {
  static const int32_t bands[] = {4, 3, -2};
  blis_usage_limit limit = limit_of("static", NULL, 0);
  check_ceilings(&limit, 0.5, bands, 3, (double[]){1, 1, 1});
  blis_usage_limit_free(&limit);
  const blis_param threshold = {.name = "threshold", .number = 0.5};
  limit = limit_of("linear", &threshold, 1);
  check_ceilings(&limit, 0.5, bands, 3, (double[]){1, 0.75, 0.5});
  check_ceilings(&limit, 0.5, bands, 1, (double[]){1});
  blis_usage_limit_free(&limit);
}

/* Saturation 0.75 of three bands: the lower two every third call. */
static void test_soft_reflective(void) {
  static const int32_t bands[] = {2, 1, 0};
  blis_usage_limit limit = limit_of("soft-reflective", NULL, 0);
  for (int call = 1; call <= 9; call++) {
    double lower = call % 3 == 0;
    check_ceilings(&limit, 0.75, bands, 3, (double[]){1, lower, lower});
  }
  check_ceilings(&limit, 0.2, bands, 3, (double[]){1, 1, 1});
  check_ceilings(&limit, 1, bands, 3, (double[]){1, 0, 0});
  blis_usage_limit_free(&limit);
}

static void test_errors(void) {
  const blis_param upside_down[] = {{.name = "min_ceiling", .number = 0.9},
                                    {.name = "max_ceiling", .number = 0.4}};
  const blis_params params = {upside_down, 2};
  blis_usage_limit limit;
  blis_error error;
  CHECK_STATUS(
      blis_usage_limit_create(&heap, "priority-holdback", &params, &context, &limit, &error),
      BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "min_ceiling 0.9 is above max_ceiling 0.4");
  blis_saturation detector;
  CHECK_STATUS(blis_saturation_create(&heap, "utilisation", NULL, &context, &detector, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "did you mean 'utilization'?");
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(test_utilization);
  RUN(test_concurrency);
  RUN(test_holdback);
  RUN(test_static_and_linear);
  RUN(test_soft_reflective);
  RUN(test_errors);
  return check_done();
}
