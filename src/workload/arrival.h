/*
 * arrival.h - the gaps between the requests of one client.
 *
 *   poisson   exponential gaps
 *   constant  equal gaps
 *   gamma     gamma gaps, with coefficient of variation cv, or shape and scale
 *   weibull   Weibull gaps, with coefficient of variation cv, or shape and scale
 *
 * A gap is a whole number of microseconds, at least 1. Formulas and the order of
 * draws match BLIS (Go, inference-sim f90a1e3a). Gamma variates follow Marsaglia
 * and Tsang, "A simple method for generating gamma variables" (2000). A gap costs 2
 * to 20 ns.
 */
#ifndef BLIS_WORKLOAD_ARRIVAL_H
#define BLIS_WORKLOAD_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/random.h"

/* A user's specification; borrowed. Unset numbers are 0. */
typedef struct blis_arrival_spec {
  const char *process; /* NULL or "" = missing */
  double cv;           /* for gamma and weibull; not set = 1 */
  double shape;        /* shape and scale replace cv and rate if both are set */
  double scale;        /* us */
  bool has_cv;
  bool has_shape;
  bool has_scale;
} blis_arrival_spec;

typedef enum blis_arrival_process {
  BLIS_ARRIVAL_POISSON,
  BLIS_ARRIVAL_CONSTANT,
  BLIS_ARRIVAL_GAMMA,
  BLIS_ARRIVAL_WEIBULL
} blis_arrival_process;

/* A prepared process, from which gaps are drawn. May be copied. The members are private. */
typedef struct blis_arrival {
  blis_arrival_process process;
  double rate_per_us;
  double shape;
  double scale; /* us */
} blis_arrival;

/*
 * Checks a specification; where names its owner in messages ("clients[2] ('chat'): arrival"). The
 * message of BLIS_ERR_INVALID contains the key, the value, and the allowed values.
 */
BLIS_MUSTUSE blis_status blis_arrival_check(const blis_arrival_spec *spec, const char *where,
                                            blis_error *error);

/*
 * Writes a note for the user about a specification that passed the check; returns false if there is
 * nothing to note. A gamma process with a cv above 10 becomes poisson, because gaps with such a
 * high variation cannot be drawn. The note starts with where.
 */
typedef struct blis_arrival_note {
  char text[208];
} blis_arrival_note;

bool blis_arrival_get_note(const blis_arrival_spec *spec, const char *where,
                           blis_arrival_note *note);

/*
 * Returns a sentence that names a number that is set but has no effect; static. NULL = all numbers
 * have an effect.
 */
const char *blis_arrival_unused(const blis_arrival_spec *spec);

/*
 * Prepares a specification that passed the check for a rate, in requests per microsecond. Rates
 * below 1e-15 count as 1e-15.
 */
void blis_arrival_init(blis_arrival *arrival, const blis_arrival_spec *spec, double rate_per_us);

/* Returns one gap in us, at least 1; INT64_MAX means this value or more. */
int64_t blis_arrival_draw(const blis_arrival *arrival, blis_random *random);

#endif
