#include "policy/autoscale/forecast.h"

#include <math.h>

/* Noise of level, trend, and observation, and the initial covariance. */
#define LEVEL_NOISE 1.0
#define TREND_NOISE 0.1
#define OBSERVATION_NOISE 10.0
#define FIRST_COVARIANCE 1000.0

/* Smoothing factors of Holt's method for level and trend. */
#define HOLT_LEVEL 0.5
#define HOLT_TREND 0.3

static void begin(blis_forecast *f, double value) {
  f->has_begun = true;
  f->level = value;
  f->covariance[0][0] = f->covariance[1][1] = FIRST_COVARIANCE;
}

/* Predicts with F = [[1, 1], [0, 1]], then corrects with H = [1, 0]. */
static void add_kalman(blis_forecast *f, double value) {
  double(*p)[2] = f->covariance;
  double level = f->level + f->trend;
  double p00 = p[0][0] + p[0][1] + p[1][0] + p[1][1] + LEVEL_NOISE;
  double p01 = p[0][1] + p[1][1];
  double p10 = p[1][0] + p[1][1];
  double p11 = p[1][1] + TREND_NOISE;
  double spread = p00 + OBSERVATION_NOISE;
  double level_gain = p00 / spread;
  double trend_gain = p10 / spread;
  double surprise = value - level;
  f->level = level + level_gain * surprise;
  f->trend += trend_gain * surprise;
  p[0][0] = (1 - level_gain) * p00;
  p[0][1] = (1 - level_gain) * p01;
  p[1][0] = p10 - trend_gain * p00;
  p[1][1] = p11 - trend_gain * p01;
}

static void add_holt(blis_forecast *f, double value) {
  double before = f->level;
  f->level = HOLT_LEVEL * value + (1 - HOLT_LEVEL) * (f->level + f->trend);
  f->trend = HOLT_TREND * (f->level - before) + (1 - HOLT_TREND) * f->trend;
}

void blis_forecast_add(blis_forecast *forecast, double value) {
  value = isfinite(value) ? value : 0;
  if (!forecast->has_begun) {
    if (value != 0) {
      begin(forecast, value);
    }
    return;
  }
  switch (forecast->kind) {
  case BLIS_FORECAST_CONSTANT:
    forecast->level = value;
    break;
  case BLIS_FORECAST_KALMAN:
    add_kalman(forecast, value);
    break;
  case BLIS_FORECAST_HOLT:
    add_holt(forecast, value);
    break;
  }
}

double blis_forecast_next(const blis_forecast *forecast) {
  return fmax(forecast->level + forecast->trend, 0);
}
