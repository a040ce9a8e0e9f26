/* Windows of a lifecycle or of a cohort's shape, and rates from weights. */
#include "workload/generate/windows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/time.h"

/* Hours of a diurnal shape, steps of a drain shape, and maximum number of days. */
enum { HOURS_PER_DAY = 24, DRAIN_STEPS = 10, MAX_DAYS = 3660 };

#define HOUR_US INT64_C(3600000000)
#define MAX_WINDOW_REQUESTS 1e9

/* Arrivals outside all windows are drawn and dropped; dropping this number takes a second. */
#define MAX_DROPPED_REQUESTS 1e8

static const double two_pi = 6.283185307179586;

/* Windows. */

static void add_window(blis__kind *kind, int64_t start_us, int64_t length_us) {
  BLIS_ASSERT(kind->window_count < kind->window_capacity);
  kind->windows[kind->window_count++] =
      (blis__window){.start_us = start_us, .end_us = blis_time_after_us(start_us, length_us)};
}

/*
 * Returns the number of days up to the horizon. Returns 1 with rules.has_one_day, or without a
 * horizon, because the number of days is then unknown.
 */
static size_t days_of(const blis__plan *plan) {
  if (plan->rules.has_one_day || plan->horizon_us == INT64_MAX) {
    return 1;
  }
  int64_t days = (plan->horizon_us - 1) / (HOURS_PER_DAY * HOUR_US) + 1;
  return days < MAX_DAYS ? (size_t)days : MAX_DAYS;
}

static void add_days(blis__kind *kind, const blis_diurnal_spec *diurnal, size_t days) {
  double floor_share = 1 / diurnal->peak_to_trough_ratio;
  for (size_t hour = 0; hour < days * HOURS_PER_DAY; hour++) {
    double from_peak = (double)((int64_t)(hour % HOURS_PER_DAY) - diurnal->peak_hour);
    double share =
        (1 + cos(two_pi * from_peak / HOURS_PER_DAY)) / 2 * (1 - floor_share) + floor_share;
    int64_t length_us = (int64_t)((double)HOUR_US * share);
    length_us = length_us < 1 ? 1 : length_us;
    add_window(kind, (int64_t)hour * HOUR_US, length_us < HOUR_US ? length_us : HOUR_US);
  }
}

static void add_drain(blis__kind *kind, const blis_drain_spec *drain) {
  if (drain->start_us > 0) {
    add_window(kind, 0, drain->start_us);
  }
  int64_t step_us = drain->ramp_us / DRAIN_STEPS;
  step_us = step_us < 1 ? 1 : step_us;
  int64_t start_us = drain->start_us;
  for (int64_t i = 0; i < DRAIN_STEPS; i++) {
    /* step * (10 - i) / 10 without an overflow */
    int64_t left = DRAIN_STEPS - i;
    int64_t active_us = step_us / DRAIN_STEPS * left + step_us % DRAIN_STEPS * left / DRAIN_STEPS;
    add_window(kind, start_us, active_us < 1 ? 1 : active_us);
    start_us = blis_time_after_us(start_us, step_us);
  }
}

static void add_spike(blis__kind *kind, const blis_spike_spec *spike, int64_t population) {
  add_window(kind, spike->start_us, spike->duration_us);
  blis__window *window = &kind->windows[kind->window_count - 1];
  window->has_trace_rate = spike->has_trace_rate;
  window->trace_rate = spike->trace_rate / (double)population;
}

static void add_client_windows(blis__kind *kind, const blis_client_spec *client) {
  for (size_t i = 0; i < client->window_count; i++) {
    const blis_window_spec *from = &client->windows[i];
    add_window(kind, from->start_us, from->end_us - from->start_us);
    blis__window *window = &kind->windows[i];
    window->has_trace_rate = from->has_trace_rate;
    window->trace_rate = from->trace_rate;
    window->has_arrival = from->has_arrival;
    window->arrival_spec = from->arrival;
  }
}

blis_status blis__plan_windows(blis__plan *plan, const blis_workload_spec *spec, uint32_t index,
                               blis_error *error) {
  blis__kind *kind = &plan->kinds[index];
  const blis_client_spec *client = blis_workload_spec_client(spec, index);
  const blis_cohort_spec *cohort =
      index < spec->client_count ? NULL : &spec->cohorts[index - spec->client_count];
  size_t days = cohort != NULL && cohort->diurnal != NULL ? days_of(plan) : 0;
  size_t count = client->window_count + days * HOURS_PER_DAY;
  if (cohort != NULL) {
    count += (cohort->spike != NULL ? 1U : 0U) + (cohort->drain != NULL ? DRAIN_STEPS + 1U : 0U);
  }
  if (count == 0) {
    return BLIS_OK;
  }
  kind->windows = blis_alloc_zeroed(&plan->alloc, count, sizeof *kind->windows);
  BLIS_TRY_NEW(kind->windows, error);
  kind->window_capacity = count;
  add_client_windows(kind, client);
  if (days > 0) {
    add_days(kind, cohort->diurnal, days);
  }
  if (cohort != NULL && cohort->spike != NULL) {
    add_spike(kind, cohort->spike, cohort->population);
  }
  if (cohort != NULL && cohort->drain != NULL) {
    add_drain(kind, cohort->drain);
  }
  for (size_t i = 0; i < kind->window_count; i++) {
    int64_t end_us = kind->windows[i].end_us;
    kind->last_end_us = end_us > kind->last_end_us ? end_us : kind->last_end_us;
  }
  return BLIS_OK;
}

bool blis__kind_is_active(const blis__kind *kind, int64_t time_us) {
  for (size_t i = 0; i < kind->window_count; i++) {
    if (time_us >= kind->windows[i].start_us && time_us < kind->windows[i].end_us) {
      return true;
    }
  }
  return kind->window_count == 0;
}

/* Rates. */

static bool overlap(const blis__window *a, const blis__window *b) {
  return a->start_us < b->end_us && b->start_us < a->end_us;
}

/* Returns whether two kinds are ever active at the same time. */
static bool are_active_together(const blis__kind *a, const blis__kind *b) {
  if (a->window_count == 0 || b->window_count == 0) {
    return true;
  }
  for (size_t i = 0; i < a->window_count; i++) {
    for (size_t j = 0; j < b->window_count; j++) {
      if (overlap(&a->windows[i], &b->windows[j])) {
        return true;
      }
    }
  }
  return false;
}

/* Adds a value repeatedly instead of multiplying, because rounding depends on the order. */
static double add_times(double sum, double value, uint32_t times) {
  for (uint32_t i = 0; i < times; i++) {
    sum += value;
  }
  return sum;
}

static double total_fraction(const blis__plan *plan, const blis__kind *with) {
  double total = 0;
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    const blis__kind *kind = &plan->kinds[i];
    if (kind->fraction > 0 && (with == NULL || are_active_together(with, kind))) {
      total = add_times(total, kind->fraction, kind->client_count);
    }
  }
  return total;
}

/* Returns the total time between the windows, which usually are in order. */
static double silent_us(const blis__plan *plan, const blis__kind *kind) {
  double silent = 0;
  int64_t end_us = 0;
  for (size_t i = 0; i < kind->window_count; i++) {
    const blis__window *window = &kind->windows[i];
    int64_t start_us = window->start_us < plan->horizon_us ? window->start_us : plan->horizon_us;
    silent += start_us > end_us ? (double)start_us - (double)end_us : 0;
    end_us = window->end_us > end_us ? window->end_us : end_us;
  }
  return silent;
}

static double mean_gap_us(const blis_arrival_spec *arrival, double rate_per_us) {
  if (!arrival->has_shape || !arrival->has_scale) {
    return fmax(1 / rate_per_us, 1);
  }
  bool is_weibull = strcmp(arrival->process, "weibull") == 0;
  double factor = is_weibull ? tgamma(1 + 1 / arrival->shape) : arrival->shape;
  return fmax(arrival->scale * factor, 1);
}

static blis_status check_dropped(const blis__plan *plan, const blis_workload_spec *spec,
                                 uint32_t index, blis_error *error) {
  const blis__kind *kind = &plan->kinds[index];
  const blis_client_spec *from = blis_workload_spec_client(spec, index);
  if (kind->window_count == 0 || !(kind->rate_per_us > 0)) {
    return BLIS_OK;
  }
  double dropped = silent_us(plan, kind) / mean_gap_us(&from->arrival, kind->rate_per_us);
  if (dropped <= MAX_DROPPED_REQUESTS) {
    return BLIS_OK;
  }
  char label[BLIS_CLIENT_LABEL_SIZE];
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: about %.3g of its arrivals are outside its lifecycle "
                   "windows; at most %.3g can be drawn and dropped",
                   blis_client_label(spec, index, label), dropped, MAX_DROPPED_REQUESTS);
}

/*
 * Returns the part of a rate that corresponds to a weight. The order of the operations determines
 * rounding.
 */
static double share_of(const blis__plan *plan, double rate, double weight, double total) {
  return plan->rules.divides_weights_first ? rate * (weight / total) : rate * weight / total;
}

static blis_status set_constant_rates(blis__plan *plan, const blis_workload_spec *spec,
                                      blis_error *error) {
  bool has_windows = false;
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    has_windows = has_windows || plan->kinds[i].window_count > 0;
  }
  double total = total_fraction(plan, NULL);
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    blis__kind *kind = &plan->kinds[i];
    const blis_client_spec *from = blis_workload_spec_client(spec, i);
    if (kind->concurrency > 0) {
      continue;
    }
    double rate = plan->shares != NULL ? spec->aggregate_rate : from->fixed_rate;
    if (rate == 0) {
      rate = share_of(plan, spec->aggregate_rate, kind->fraction,
                      has_windows ? total_fraction(plan, kind) : total);
    }
    kind->rate_per_us = rate / 1e6;
    blis_arrival_init(&kind->arrival, &from->arrival, kind->rate_per_us);
    BLIS_TRY(check_dropped(plan, spec, i, error));
  }
  return BLIS_OK;
}

/* Returns the weight of a kind during a window: that of its first overlapping window. */
static double weight_during(const blis__kind *kind, const blis__window *window) {
  for (size_t i = 0; i < kind->window_count; i++) {
    if (overlap(&kind->windows[i], window)) {
      return kind->windows[i].has_trace_rate ? kind->windows[i].trace_rate : kind->fraction;
    }
  }
  return kind->window_count == 0 ? kind->fraction : 0;
}

/* Returns the part of a window before the horizon. */
static blis__window clamped(const blis__plan *plan, const blis__window *window) {
  blis__window open = *window;
  if (open.end_us > plan->horizon_us) {
    open.end_us = plan->horizon_us;
  }
  return open;
}

/* Returns the requests per second of one member in a clamped window. */
static double rate_in_window(const blis__plan *plan, const blis_workload_spec *spec,
                             const blis__kind *kind, const blis__window *window) {
  double weight = window->has_trace_rate ? window->trace_rate : kind->fraction;
  if (spec->aggregate_rate == 0 && window->has_trace_rate) {
    return weight;
  }
  double total = 0;
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    total = add_times(total, weight_during(&plan->kinds[i], window), plan->kinds[i].client_count);
  }
  return total > 0 ? share_of(plan, spec->aggregate_rate, weight, total) : 0;
}

static blis_status set_window_rate(blis__plan *plan, const blis_workload_spec *spec, uint32_t index,
                                   blis__window *window, blis_error *error) {
  if (window->start_us >= plan->horizon_us) {
    return BLIS_OK;
  }
  const blis__kind *kind = &plan->kinds[index];
  const blis_client_spec *from = blis_workload_spec_client(spec, index);
  const blis__window open = clamped(plan, window);
  double rate = rate_in_window(plan, spec, kind, &open);
  double seconds = (double)(open.end_us - open.start_us) / 1e6;
  double requests = ceil(rate * seconds);
  if (requests > MAX_WINDOW_REQUESTS) {
    char label[BLIS_CLIENT_LABEL_SIZE];
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the window from %" PRId64 " to %" PRId64
                     " us has %g requests (%g per second); at most %g are "
                     "possible",
                     blis_client_label(spec, index, label), window->start_us, window->end_us,
                     requests, rate, MAX_WINDOW_REQUESTS);
  }
  window->requests = (int64_t)requests;
  blis_arrival_init(&window->arrival, window->has_arrival ? &window->arrival_spec : &from->arrival,
                    rate / 1e6);
  return BLIS_OK;
}

/* Gives a client without windows one window for the whole run, if the run has an end. */
static blis_status open_for_ever(blis__plan *plan, const blis_workload_spec *spec, uint32_t index,
                                 blis_error *error) {
  blis__kind *kind = &plan->kinds[index];
  if (plan->horizon_us == INT64_MAX) {
    char label[BLIS_CLIENT_LABEL_SIZE];
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s has no lifecycle windows, but others have windows "
                     "with rates, arrivals or lengths of their own; give it "
                     "windows, or the workload a horizon",
                     blis_client_label(spec, index, label));
  }
  kind->windows = blis_alloc_zeroed(&plan->alloc, 1, sizeof *kind->windows);
  BLIS_TRY_NEW(kind->windows, error);
  kind->window_capacity = 1;
  add_window(kind, 0, plan->horizon_us);
  return BLIS_OK;
}

static blis_status set_varying_rates(blis__plan *plan, const blis_workload_spec *spec,
                                     blis_error *error) {
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    const blis__kind *kind = &plan->kinds[i];
    if (kind->window_count == 0 && kind->concurrency == 0 && !plan->rules.needs_windows) {
      BLIS_TRY(open_for_ever(plan, spec, i, error));
    }
  }
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    blis__kind *kind = &plan->kinds[i];
    for (size_t j = 0; j < kind->window_count; j++) {
      BLIS_TRY(set_window_rate(plan, spec, i, &kind->windows[j], error));
    }
  }
  return BLIS_OK;
}

blis_status blis__plan_rates(blis__plan *plan, const blis_workload_spec *spec, blis_error *error) {
  for (uint32_t i = 0; i < plan->kind_count; i++) {
    for (size_t j = 0; j < plan->kinds[i].window_count; j++) {
      const blis__window *window = &plan->kinds[i].windows[j];
      plan->is_varying = plan->is_varying || window->has_trace_rate || window->has_arrival ||
                         window->has_input || window->has_output;
    }
  }
  if (plan->is_varying) {
    return set_varying_rates(plan, spec, error);
  }
  return set_constant_rates(plan, spec, error);
}
