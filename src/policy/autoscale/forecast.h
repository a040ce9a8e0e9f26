/*
 * forecast.h - predicts the next value of a series, for planners that scale by prediction.
 *
 * Method `constant` returns the last value. `kalman` is a local linear trend with the settings of
 * Dynamo's planner (components/src/dynamo/planner/core/load/predictors.py). `holt` is Holt's linear
 * method. Leading zeros are skipped, and values that are not finite count as 0.
 */
#ifndef BLIS_POLICY_AUTOSCALE_FORECAST_H
#define BLIS_POLICY_AUTOSCALE_FORECAST_H

#include <stdbool.h>

typedef enum blis_forecast_kind {
  BLIS_FORECAST_CONSTANT,
  BLIS_FORECAST_KALMAN,
  BLIS_FORECAST_HOLT
} blis_forecast_kind;

#define BLIS__FORECAST_WORDS "constant|kalman|holt"

/* Initialize with {.kind = ...}. */
typedef struct blis_forecast {
  blis_forecast_kind kind;
  bool has_begun;
  double level;
  double trend;
  double covariance[2][2]; /* covariance of level and trend, for kalman */
} blis_forecast;

void blis_forecast_add(blis_forecast *forecast, double value);
/* Returns the predicted next value, at least 0. Returns 0 before the first value above 0. */
double blis_forecast_next(const blis_forecast *forecast);

#endif
