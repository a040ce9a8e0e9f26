#include "workload/arrival.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/nearest.h"
#include "base/number.h"

static const char *const process_names[] = {"poisson", "constant", "gamma", "weibull"};

enum { PROCESSES = sizeof process_names / sizeof *process_names };

/* Returns false if no process has this name. */
static bool find_process(const char *name, blis_arrival_process *process) {
  for (int i = 0; name != NULL && i < PROCESSES; i++) {
    if (strcmp(process_names[i], name) == 0) {
      *process = (blis_arrival_process)i;
      return true;
    }
  }
  return false;
}

static blis_status fail_unknown(const char *name, const char *where, blis_error *error) {
  blis_nearest nearest = {.wanted = name != NULL ? name : ""};
  for (int i = 0; i < PROCESSES; i++) {
    blis_nearest_offer(&nearest, process_names[i]);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s: unknown process '%s'%s", where, nearest.wanted,
                   blis_nearest_suggest(&nearest).text);
}

static blis_status check_number(const char *where, const char *key, bool is_given, double value,
                                blis_error *error) {
  if (is_given && !(value > 0 && value <= DBL_MAX)) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s is %g; it must be a finite number above 0",
                     where, key, value);
  }
  return BLIS_OK;
}

blis_status blis_arrival_check(const blis_arrival_spec *spec, const char *where,
                               blis_error *error) {
  blis_arrival_process process;
  if (!find_process(spec->process, &process)) {
    return fail_unknown(spec->process, where, error);
  }
  BLIS_TRY(check_number(where, "cv", spec->has_cv, spec->cv, error));
  BLIS_TRY(check_number(where, "shape", spec->has_shape, spec->shape, error));
  BLIS_TRY(check_number(where, "scale", spec->has_scale, spec->scale, error));
  bool is_explicit = spec->has_shape && spec->has_scale;
  if (process == BLIS_ARRIVAL_WEIBULL && spec->has_cv && !is_explicit &&
      (spec->cv < 0.01 || spec->cv > 10.4)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: cv is %g; for weibull it must be from 0.01 to 10.4", where, spec->cv);
  }
  return BLIS_OK;
}

/* Returns the shape of a gamma process; shape and scale take precedence over cv. */
static double gamma_shape(const blis_arrival_spec *spec) {
  double cv = spec->has_cv ? spec->cv : 1;
  return spec->has_shape && spec->has_scale ? spec->shape : 1 / (cv * cv);
}

/* Returns whether the variation is too high to be drawn; such a process is replaced by poisson. */
static bool is_degenerate(const blis_arrival_spec *spec, blis_arrival_process process) {
  return process == BLIS_ARRIVAL_GAMMA && gamma_shape(spec) < 0.01;
}

bool blis_arrival_get_note(const blis_arrival_spec *spec, const char *where,
                           blis_arrival_note *note) {
  blis_arrival_process process;
  if (!find_process(spec->process, &process) || !is_degenerate(spec, process)) {
    return false;
  }
  bool is_explicit = spec->has_shape && spec->has_scale;
  snprintf(note->text, sizeof note->text,
           "%.100s: gamma with %s %s is too bursty to sample; using poisson", where,
           is_explicit ? "shape" : "cv",
           blis_show_double(is_explicit ? spec->shape : spec->cv).text);
  return true;
}

const char *blis_arrival_unused(const blis_arrival_spec *spec) {
  blis_arrival_process process;
  if (!find_process(spec->process, &process)) {
    return NULL;
  }
  if (process == BLIS_ARRIVAL_POISSON || process == BLIS_ARRIVAL_CONSTANT) {
    return spec->has_cv || spec->has_shape || spec->has_scale
               ? "cv, shape and scale are for gamma and weibull; they have no "
                 "effect on poisson and constant"
               : NULL;
  }
  if (spec->has_shape != spec->has_scale) {
    return "shape and scale have no effect unless both are given";
  }
  return NULL;
}

/* Returns the coefficient of variation of a Weibull variable with this shape. */
static double weibull_cv(double shape) {
  double first = tgamma(1 + 1 / shape);
  return sqrt(tgamma(1 + 2 / shape) / (first * first) - 1);
}

/*
 * Computes the shape for a cv, by bisection. Tolerance and interval are part of the definition,
 * because they determine the result.
 */
static double weibull_shape(double cv) {
  double low = 0.1;
  double high = 100;
  for (int i = 0; i < 100; i++) {
    double middle = (low + high) / 2;
    double found = weibull_cv(middle);
    if (fabs(found - cv) < 0.001) {
      return middle;
    }
    if (found > cv) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (low + high) / 2;
}

void blis_arrival_init(blis_arrival *arrival, const blis_arrival_spec *spec, double rate_per_us) {
  blis_arrival a = {.rate_per_us = fmax(rate_per_us, 1e-15)};
  bool is_known = find_process(spec->process, &a.process);
  BLIS_ASSERT(is_known);
  double cv = spec->has_cv ? spec->cv : 1;
  if (spec->has_shape && spec->has_scale) {
    a.shape = spec->shape;
    a.scale = spec->scale;
  } else if (a.process == BLIS_ARRIVAL_GAMMA) {
    a.shape = gamma_shape(spec);
    a.scale = cv * cv / a.rate_per_us;
  } else if (a.process == BLIS_ARRIVAL_WEIBULL) {
    a.shape = weibull_shape(cv);
    a.scale = (1 / a.rate_per_us) / tgamma(1 + 1 / a.shape);
  }
  if (is_degenerate(spec, a.process)) {
    a.process = BLIS_ARRIVAL_POISSON;
  }
  *arrival = a;
}

/* Draws a gamma variate with shape >= 1. */
static double draw_large_gamma(double shape, double scale, blis_random *random) {
  double d = shape - 1.0 / 3.0;
  double c = 1 / sqrt(9 * d);
  for (;;) {
    double x;
    double v;
    do {
      x = blis_random_normal(random);
      v = 1 + c * x;
    } while (v <= 0);
    v = v * v * v;
    double u = blis_random_float64(random);
    if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v))) {
      return d * v * scale;
    }
  }
}

static double draw_gamma(double shape, double scale, blis_random *random) {
  if (shape >= 1) {
    return draw_large_gamma(shape, scale, random);
  }
  double u = blis_random_float64(random);
  return draw_large_gamma(shape + 1, scale, random) * pow(u, 1 / shape);
}

static double draw_weibull(double shape, double scale, blis_random *random) {
  double u = blis_random_float64(random);
  return scale * pow(-log(u == 0 ? DBL_TRUE_MIN : u), 1 / shape);
}

int64_t blis_arrival_draw(const blis_arrival *arrival, blis_random *random) {
  double gap_us = 0;
  switch (arrival->process) {
  case BLIS_ARRIVAL_POISSON:
    gap_us = blis_random_exp(random) / arrival->rate_per_us;
    break;
  case BLIS_ARRIVAL_CONSTANT:
    gap_us = 1 / arrival->rate_per_us;
    break;
  case BLIS_ARRIVAL_GAMMA:
    gap_us = draw_gamma(arrival->shape, arrival->scale, random);
    break;
  case BLIS_ARRIVAL_WEIBULL:
    gap_us = draw_weibull(arrival->shape, arrival->scale, random);
    break;
  }
  if (gap_us >= 0x1p63) {
    return INT64_MAX;
  }
  return gap_us >= 1 ? (int64_t)gap_us : 1;
}
