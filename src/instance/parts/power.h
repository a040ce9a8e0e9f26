/*
 * power.h - the energy of the steps of an engine, and its division among tokens.
 *
 * Everything is in whole nJ, of all GPUs. The energy of a step is shared equally by
 * the tokens that it computes. The remainder, less than 1 nJ per token, is carried
 * to the next step. The energy of steps without tokens belongs to no request. The
 * shares of all requests and the energy without a request therefore add up to the
 * energy of the steps, in either engine. If intensities of the grid are configured,
 * the emissions of each step are shared in the same way, in whole pg. A step costs
 * O(1). Consecutive decode steps also cost O(1), unless a function computes their
 * power or carbon is counted.
 */
#ifndef BLIS_INSTANCE_PARTS_POWER_H
#define BLIS_INSTANCE_PARTS_POWER_H

#include "base/inline.h"
#include "instance/config/instance_config.h"
#include "instance/config/instance_stats.h"

typedef struct blis__power {
  const blis_power_config *config;
  const blis_latency_model *latency; /* for shares of time; borrowed */
  uint64_t busy_nj;                  /* of all steps, */
  uint64_t prefill_nj;               /* of steps that computed prompt tokens */
  uint64_t nobody_nj;                /* and of steps without any token */
  blis_drawn token;                  /* taken by one token in every step so far; wraps */
  blis_drawn step;                   /* like token, of the last step */
  blis_drawn rest;                   /* of steps so far, not assigned to a request yet */
  double carbon_g;                   /* as in blis_instance_energy */
  double carbon_us;
} blis__power;

BLIS_MUSTUSE blis_status blis__power_check(const blis_power_config *config, blis_error *error);

/* config and latency are borrowed. Nothing to free. */
blis__power blis__power_of(const blis_power_config *config, const blis_latency_model *latency);

/* Computes the sums before each step. */
void blis_carbon_add_up(blis_carbon_step *steps, size_t count);

/* g / kWh times us from 0 to time_us, which is not below 0. */
double blis_carbon_until(const blis_carbon_step *steps, size_t count, int64_t time_us);

/* A step over these requests begins at start_us and takes duration_us. */
BLIS_MUSTUSE blis_status blis__power_step(blis__power *power, const blis_batch_sums *sums,
                                          int64_t start_us, int64_t duration_us, blis_error *error);

/*
 * count steps in a row: each gives one token to each of decodes requests and
 * prefills nothing; context is the sum of their contexts before the first.
 */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__power_decodes(blis__power *power, int64_t decodes,
                                                             int64_t context, int64_t start_us,
                                                             const int64_t *step_us, size_t count,
                                                             blis_error *error);

/* count steps in a row that compute nothing. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__power_idle_steps(blis__power *power,
                                                                int64_t start_us,
                                                                int64_t duration_us, int64_t count,
                                                                blis_error *error);

#endif
