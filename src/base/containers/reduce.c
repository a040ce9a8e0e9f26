#include "base/containers/reduce.h"

double blis_least_of(const double *values, size_t count) {
  double least = values[0];
  for (size_t i = 1; i < count; i++) {
    least = values[i] < least ? values[i] : least;
  }
  return least;
}

double blis_greatest_of(const double *values, size_t count) {
  double greatest = values[0];
  for (size_t i = 1; i < count; i++) {
    greatest = values[i] > greatest ? values[i] : greatest;
  }
  return greatest;
}
