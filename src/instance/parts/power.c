#include "instance/parts/power.h"

#include <inttypes.h>
#include <math.h>

#include "base/minmax.h"

/*
 * More than GPUs draw. With this limit, the energy of a step of several hours fits in 64 bits of
 * nJ.
 */
static const double watts_max = 1e6;

static bool is_power(double watts) {
  return watts >= 0 && watts <= watts_max;
}

blis_status blis__power_check(const blis_power_config *config, blis_error *error) {
  const double watts[] = {config->prefill_watts, config->decode_watts, config->cap_watts};
  for (size_t i = 0; i < sizeof watts / sizeof *watts; i++) {
    if (!is_power(watts[i])) {
      return blis_fail(error, BLIS_ERR_INVALID, "a GPU draws %g W, expected 0 to %g", watts[i],
                       watts_max);
    }
  }
  if (config->gpus < 1) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "power: there are %" PRId64 " GPUs, expected at least 1", config->gpus);
  }
  return BLIS_OK;
}

blis__power blis__power_of(const blis_power_config *config, const blis_latency_model *latency) {
  return (blis__power){.config = config, .latency = latency};
}

/* Calls the power function for a step. */
static blis_status ask(const blis__power *power, const blis_batch_sums *sums, int64_t duration_us,
                       double *watts, blis_error *error) {
  const blis_power_config *config = power->config;
  const blis_power_step step = {.prefill_tokens = sums->prefill_tokens,
                                .decode_tokens = sums->decode_requests,
                                .kv_tokens =
                                    sums->prefill_context_tokens + sums->decode_context_tokens,
                                .duration_us = duration_us};
  return config->draw(config->draw_ud, &step, watts, error);
}

/* Returns the fraction of prompt time in a step with prefills and decodes, computed from the
   durations of separate steps. Falls back to tokens if the latency model does not support sums. */
static double prefill_share(const blis__power *power, const blis_batch_sums *sums) {
  const blis_batch_sums decodes = {.requests = sums->decode_requests,
                                   .decode_requests = sums->decode_requests,
                                   .decode_context_tokens = sums->decode_context_tokens};
  blis_batch_sums prompts = *sums;
  prompts.requests -= sums->decode_requests;
  prompts.decode_requests = 0;
  prompts.decode_context_tokens = 0;
  int64_t prompts_us;
  int64_t decodes_us;
  if (!blis_latency_step_time_from_sums(power->latency, &prompts, &prompts_us) ||
      !blis_latency_step_time_from_sums(power->latency, &decodes, &decodes_us)) {
    prompts_us = sums->prefill_tokens;
    decodes_us = sums->decode_requests;
  }
  return (double)prompts_us / ((double)prompts_us + (double)decodes_us);
}

static double watts_of(const blis__power *power, const blis_batch_sums *sums) {
  const blis_power_config *config = power->config;
  if (sums->prefill_tokens == 0) {
    return config->decode_watts;
  }
  if (sums->decode_requests == 0 || !config->mixes) {
    return config->prefill_watts;
  }
  double share = prefill_share(power, sums);
  return share * config->prefill_watts + (1 - share) * config->decode_watts;
}

/* Returns the energy of watts over duration_us in nJ, saturated. */
static uint64_t energy_of(const blis__power *power, double watts, int64_t duration_us) {
  double capped = fmin(watts, power->config->cap_watts);
  uint64_t milliwatts = (uint64_t)(capped * 1000 + 0.5) * (uint64_t)power->config->gpus;
  uint64_t us = (uint64_t)blis_max_i64(duration_us, 0);
  return milliwatts > 0 && us > UINT64_MAX / 2 / milliwatts ? UINT64_MAX / 2 : milliwatts * us;
}

/* Returns the share of one of `tokens` tokens, and subtracts it from *rest. */
static uint64_t take_share(uint64_t *rest, uint64_t drawn, uint64_t tokens) {
  *rest += drawn;
  uint64_t share = *rest / tokens;
  *rest -= share * tokens;
  return share;
}

/* Divides the energy of steps among their tokens. */
static void share_out(blis__power *power, const blis_drawn *drawn, bool is_prefill,
                      uint64_t tokens) {
  power->busy_nj += drawn->nj;
  power->prefill_nj += is_prefill ? drawn->nj : 0;
  power->step = (blis_drawn){0};
  if (tokens == 0) {
    power->nobody_nj += drawn->nj;
    return;
  }
  power->step.nj = take_share(&power->rest.nj, drawn->nj, tokens);
  power->step.carbon_pg = take_share(&power->rest.carbon_pg, drawn->carbon_pg, tokens);
  blis_drawn_add(&power->token, &power->step, 1);
}

void blis_carbon_add_up(blis_carbon_step *steps, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const blis_carbon_step *last = i > 0 ? &steps[i - 1] : &steps[i];
    steps[i].before =
        i == 0 ? 0 : last->before + last->g_per_kwh * (double)(steps[i].from_us - last->from_us);
  }
}

double blis_carbon_until(const blis_carbon_step *steps, size_t count, int64_t time_us) {
  size_t low = 0;
  size_t high = count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (steps[middle].from_us <= time_us) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return steps[low].before + steps[low].g_per_kwh * (double)(time_us - steps[low].from_us);
}

/* Returns the emissions in pg. */
static uint64_t count_carbon(blis__power *power, uint64_t energy_nj, int64_t start_us,
                             int64_t duration_us) {
  const double nj_per_kwh = 3.6e15;
  const blis_power_config *config = power->config;
  if (config->carbon == NULL || duration_us <= 0) {
    return 0;
  }
  double carbon_us =
      blis_carbon_until(config->carbon, config->carbon_count, start_us + duration_us) -
      blis_carbon_until(config->carbon, config->carbon_count, start_us);
  power->carbon_us += carbon_us;
  double carbon_g = (double)energy_nj / nj_per_kwh * (carbon_us / (double)duration_us);
  power->carbon_g += carbon_g;
  return (uint64_t)fmin(carbon_g * 1e12 + 0.5, 9e18);
}

blis_status blis__power_step(blis__power *power, const blis_batch_sums *sums, int64_t start_us,
                             int64_t duration_us, blis_error *error) {
  double watts = 0;
  if (power->config->draw != NULL) {
    BLIS_TRY(ask(power, sums, duration_us, &watts, error));
  } else {
    watts = watts_of(power, sums);
  }
  uint64_t energy_nj = energy_of(power, watts, duration_us);
  const blis_drawn drawn = {energy_nj, count_carbon(power, energy_nj, start_us, duration_us)};
  share_out(power, &drawn, sums->prefill_tokens > 0,
            (uint64_t)(sums->prefill_tokens + sums->decode_requests));
  return BLIS_OK;
}

/* Returns whether consecutive steps must be counted one by one, because their energy cannot be
   computed from a single step of the same length. */
static bool looks_at_each(const blis__power *power) {
  return power->config->draw != NULL || power->config->carbon != NULL;
}

blis_status blis__power_decodes(blis__power *power, int64_t decodes, int64_t context,
                                int64_t start_us, const int64_t *step_us, size_t count,
                                blis_error *error) {
  blis_batch_sums sums = {
      .requests = decodes, .decode_requests = decodes, .decode_context_tokens = context};
  bool looks = looks_at_each(power);
  int64_t all_us = 0;
  for (size_t i = 0; i < count; i++) {
    if (looks) {
      BLIS_TRY(blis__power_step(power, &sums, start_us + all_us, step_us[i], error));
      sums.decode_context_tokens += decodes;
    }
    all_us += step_us[i];
  }
  return looks ? BLIS_OK : blis__power_step(power, &sums, start_us, all_us, error);
}

blis_status blis__power_idle_steps(blis__power *power, int64_t start_us, int64_t duration_us,
                                   int64_t count, blis_error *error) {
  const blis_batch_sums nothing = {0};
  if (!looks_at_each(power)) {
    return blis__power_step(power, &nothing, start_us, count * duration_us, error);
  }
  for (int64_t i = 0; i < count; i++) {
    BLIS_TRY(blis__power_step(power, &nothing, start_us + i * duration_us, duration_us, error));
  }
  return BLIS_OK;
}
