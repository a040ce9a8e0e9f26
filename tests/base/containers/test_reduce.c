/* Bounds of random numbers, against a plain look at one after the other. */
#include "base/containers/reduce.h"

#include "base/random.h"
#include "check.h"

static void bounds_of_any_count(void) {
  blis_random random;
  blis_random_init(&random, 3);
  for (size_t count = 1; count <= 70; count++) {
    for (int round = 0; round < 50; round++) {
      double values[70];
      double least = 0;
      double greatest = 0;
      for (size_t i = 0; i < count; i++) {
        values[i] = blis_random_float64(&random) - 0.5;
        least = i == 0 || values[i] < least ? values[i] : least;
        greatest = i == 0 || values[i] > greatest ? values[i] : greatest;
      }
      CHECK_EQ_DOUBLE(blis_least_of(values, count), least);
      CHECK_EQ_DOUBLE(blis_greatest_of(values, count), greatest);
    }
  }
}

int main(void) {
  RUN(bounds_of_any_count);
  return check_done();
}
