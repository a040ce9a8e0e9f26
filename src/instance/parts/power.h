/*
 * power.h - the energy of the steps of an engine, and its allocation to tokens.
 *
 * All energies are in whole nJ, over all GPUs. The energy of a step is divided equally among the
 * tokens that it computes. The remainder, less than 1 nJ per token, is carried to the next step.
 * The energy of steps without tokens belongs to no request. The shares of all requests and the
 * energy without a request therefore add up to the energy of the steps, in either engine. If carbon
 * intensities of the grid are configured, the emissions of each step are divided in the same way,
 * in whole pg. A step costs O(1). A run of decode steps also costs O(1) in total, unless a callback
 * computes their power or emissions are counted.
 */
#ifndef BLIS_INSTANCE_PARTS_POWER_H
#define BLIS_INSTANCE_PARTS_POWER_H

#include "base/inline.h"
#include "instance/config/instance_config.h"
#include "instance/config/instance_stats.h"

typedef struct blis__power {
  const blis_power_config *config;
  const blis_latency_model *latency; /* for the durations of prefill and decode parts; borrowed */
  uint64_t busy_nj;                  /* energy of all steps */
  uint64_t prefill_nj;               /* energy of steps that computed prompt tokens */
  uint64_t nobody_nj;                /* energy of steps without tokens */
  blis_drawn token;                  /* sum over all steps of the energy per token; wraps around */
  blis_drawn step;                   /* energy per token of the last step */
  /* Remainder of the steps so far, not yet assigned to a request. */
  blis_drawn rest;
  double carbon_g; /* see blis_instance_energy */
  double carbon_us;
} blis__power;

BLIS_MUSTUSE blis_status blis__power_check(const blis_power_config *config, blis_error *error);

/* config and latency are borrowed. The result needs no cleanup. */
blis__power blis__power_of(const blis_power_config *config, const blis_latency_model *latency);

/* Sets `before` in each entry. */
void blis_carbon_add_up(blis_carbon_step *steps, size_t count);

/* Returns the integral of the intensity from time 0 to time_us >= 0, in g / kWh * us. */
double blis_carbon_until(const blis_carbon_step *steps, size_t count, int64_t time_us);

/* Counts a step over these requests that begins at start_us and takes duration_us. */
BLIS_MUSTUSE blis_status blis__power_step(blis__power *power, const blis_batch_sums *sums,
                                          int64_t start_us, int64_t duration_us, blis_error *error);

/*
 * Counts `count` consecutive steps. Each computes one token for each of `decodes` requests, and no
 * prompt tokens. context is the sum of their context lengths before the first step.
 */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__power_decodes(blis__power *power, int64_t decodes,
                                                             int64_t context, int64_t start_us,
                                                             const int64_t *step_us, size_t count,
                                                             blis_error *error);

/* Counts `count` consecutive steps that compute nothing. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__power_idle_steps(blis__power *power,
                                                                int64_t start_us,
                                                                int64_t duration_us, int64_t count,
                                                                blis_error *error);

#endif
