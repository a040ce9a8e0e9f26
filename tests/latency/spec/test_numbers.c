/* The arithmetic of numbers.h, to the last bit. */
#include "latency/spec/numbers.h"

#include "check.h"

static double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void test_power_has_the_known_bits(void) {
  static const struct {
    double experts;
    double used;
    int64_t exponent;
    uint64_t bits;
  } CASES[] = {
      {8, 2, 2, 0x3fe2000000000000},      {8, 2, 17, 0x3f7eca170c000000},
      {8, 2, 64, 0x3e45ab6a57c7bc99},     {8, 2, 255, 0x3951f1b08e87ec42},
      {16, 1, 64, 0x3f9076119663ebd4},    {16, 1, 255, 0x3e731f07967a7260},
      {64, 6, 17, 0x3fc8030b11856d99},    {64, 6, 64, 0x3f5e14c09ab897d5},
      {64, 6, 2048, 0x2dc1b15154846ebf},  {60, 4, 5, 0x3fe6a9f2ab6cacc1},
      {128, 8, 2048, 0x3403dcacc31efbf2}, {160, 6, 3, 0x3fec88872b020c4b},
      {256, 8, 64, 0x3fc0c75c9042ecd1},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    double base = (CASES[i].experts - CASES[i].used) / CASES[i].experts;
    CHECK_EQ_DOUBLE(blis__power(base, CASES[i].exponent), from_bits(CASES[i].bits));
  }
}

static void test_power_at_its_edges(void) {
  CHECK_EQ_DOUBLE(blis__power(0.75, 0), 1.0);
  CHECK_EQ_DOUBLE(blis__power(0.0, 0), 1.0);
  CHECK_EQ_DOUBLE(blis__power(0.0, 5), 0.0);
  CHECK_EQ_DOUBLE(blis__power(1.0, INT64_MAX), 1.0);
  CHECK_EQ_DOUBLE(blis__power(0.3, 1), 0.3);
  CHECK_EQ_DOUBLE(blis__power(0.75, 100000), 0.0);
  CHECK_EQ_DOUBLE(blis__power(0.75, INT64_MAX), 0.0);
  CHECK_EQ_DOUBLE(blis__power(0.5, 1000), ldexp(1.0, -1000));
}

static void test_times_are_truncated_and_clamped(void) {
  CHECK_EQ_I64(blis__truncate(0.999), 0);
  CHECK_EQ_I64(blis__truncate(15563.999), 15563);
  CHECK_EQ_I64(blis__truncate(9.3e18), INT64_MAX);
  CHECK_EQ_I64(blis__truncate((double)INFINITY), INT64_MAX);
  CHECK_EQ_I64(blis__truncate((double)NAN), INT64_MAX);
  CHECK_EQ_I64(blis__step_us(0.5), 1);
  CHECK_EQ_I64(blis__step_us(2.5), 2);
}

static void test_divisors_divide_exactly(void) {
  for (int divisor = 1; divisor <= 64; divisor++) {
    blis__divisor by = blis__divisor_of((double)divisor);
    for (double x = 0.1; x < 1e15; x *= 7.3) {
      CHECK_EQ_DOUBLE(blis__divide(x, &by), x / (double)divisor);
    }
  }
}

/* The time of step i of a line, by another way of rounding. */
static double on_line(double first, double each, size_t i) {
  double us = first;
  for (size_t k = 0; k < i; k++) {
    us += each;
  }
  return us;
}

static void test_times_between_two_are_those_of_the_line(void) {
  enum { COUNT = 64 };
  int answered = 0;
  for (int i = 0; i < 2000; i++) {
    double first = 2.0 + 7.3 * i;
    double each = (double)(i % 97) / 61.7;
    int64_t us[COUNT];
    if (blis__step_times_between(first, on_line(first, each, COUNT - 1), COUNT, us)) {
      answered++;
      for (size_t k = 0; k < COUNT; k++) {
        CHECK_EQ_I64(us[k], blis__step_us(on_line(first, each, k)));
      }
    }
  }
  CHECK(answered > 1500);
}

static void test_times_too_near_a_whole_number_are_not_told(void) {
  int64_t us[5];
  CHECK(blis__step_times_between(10.25, 12.25, 5, us));
  CHECK(!blis__step_times_between(10.25, 11.25, 5, us)); /* the fourth is 11 */
  CHECK(!blis__step_times_between(10.0, 12.4, 5, us));
  CHECK(!blis__step_times_between(10.3, 11.0 - 1e-6, 5, us));
  CHECK(!blis__step_times_between(10.3, 11.0 + 1e-6, 5, us));
  CHECK(blis__step_times_between(10.3, 11.0 + 1e-4, 5, us));
}

static void test_times_out_of_range_are_not_told(void) {
  int64_t us[5];
  CHECK(!blis__step_times_between(0.4, 0.6, 5, us));
  CHECK(!blis__step_times_between(-9.5, 3.25, 5, us));
  CHECK(!blis__step_times_between(12.4, 11.3, 5, us));
  CHECK(!blis__step_times_between(10.3, 1e10, 5, us));
  CHECK(!blis__step_times_between(10.3, (double)INFINITY, 5, us));
  CHECK(!blis__step_times_between((double)NAN, (double)NAN, 5, us));
}

int main(void) {
  RUN(test_power_has_the_known_bits);
  RUN(test_power_at_its_edges);
  RUN(test_times_are_truncated_and_clamped);
  RUN(test_divisors_divide_exactly);
  RUN(test_times_between_two_are_those_of_the_line);
  RUN(test_times_too_near_a_whole_number_are_not_told);
  RUN(test_times_out_of_range_are_not_told);
  return check_done();
}
