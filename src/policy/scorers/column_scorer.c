#include "policy/scorers/column_scorer.h"

typedef struct bounds {
  double lowest;
  double highest;
} bounds;

static bounds bounds_of(const double *values, size_t count) {
  bounds b = {values[0], values[0]};
  for (size_t i = 1; i < count; i++) {
    b.lowest = values[i] < b.lowest ? values[i] : b.lowest;
    b.highest = values[i] > b.highest ? values[i] : b.highest;
  }
  return b;
}

static void fill(double *scores, size_t count, double value) {
  for (size_t i = 0; i < count; i++) {
    scores[i] = value;
  }
}

void blis__score_least(const double *values, size_t count, double *scores) {
  bounds b = bounds_of(values, count);
  if (b.lowest == b.highest) {
    fill(scores, count, 1);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    scores[i] = (b.highest - values[i]) / (b.highest - b.lowest);
  }
}

void blis__score_most(const double *values, size_t count, double *scores) {
  bounds b = bounds_of(values, count);
  if (b.lowest == b.highest) {
    fill(scores, count, 1);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    scores[i] = (values[i] - b.lowest) / (b.highest - b.lowest);
  }
}

void blis__score_idle(const double *values, size_t count, double idle,
                      double best_of_busy, double *scores) {
  double highest = bounds_of(values, count).highest;
  for (size_t i = 0; i < count; i++) {
    scores[i] =
        values[i] <= idle ? 1 : (highest - values[i]) / highest * best_of_busy;
  }
}
