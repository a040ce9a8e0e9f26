/* The arithmetic of numbers.h, to the last bit. */
#include "latency/numbers.h"

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
    CHECK_EQ_DOUBLE(blis__power(base, CASES[i].exponent),
                    from_bits(CASES[i].bits));
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

int main(void) {
  RUN(test_power_has_the_known_bits);
  RUN(test_power_at_its_edges);
  RUN(test_times_are_truncated_and_clamped);
  RUN(test_divisors_divide_exactly);
  return check_done();
}
