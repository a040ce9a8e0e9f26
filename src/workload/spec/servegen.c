#include "workload/spec/servegen.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "workload/spec/sections.h"
#include "workload/spec/servegen_files.h"

enum { CLASSES = 5, PERIODS = 3, DAY_S = 86400, ROW_S = 600, ROWS_PER_DAY = 144 };
enum { DEFAULT_WINDOW_S = 600, DEFAULT_DRAIN_S = 180 };

/* Chunks are assigned to classes in this order; cohorts are listed in the second order. */
static const char *const dealt_classes[CLASSES] = {"critical", "standard", "batch", "sheddable",
                                                   "background"};
static const int sorted_classes[CLASSES] = {4, 2, 0, 3, 1};

static const struct {
  const char *name;
  int64_t start_s;
} periods[PERIODS] = {{"midnight", 0}, {"morning", 28800}, {"afternoon", 50400}};

typedef struct conversion {
  const blis_servegen_spec *from;
  blis__servegen_data *data;
  blis_arena *arena;
  blis_random random;
  blis_cohort_spec *cohorts;
  size_t cohort_count;
  uint32_t *active; /* chunks of the current window, in order of assignment */
  size_t active_count;
} conversion;

/* Chunks of a window. */

/* A window on one day, or at a time of day. */
typedef struct window {
  int64_t start_s;
  bool is_daily;
} window;

static bool matches(const blis__servegen_row *row, const window *w) {
  return (w->is_daily ? row->start_s % DAY_S : row->start_s) == w->start_s;
}

/* Returns the lengths that apply at a time; NULL = none yet. */
static const blis__servegen_lengths *lengths_at(const blis__servegen_chunk *chunk, int64_t time_s) {
  const blis__servegen_lengths *found = NULL;
  for (size_t i = 0; i < chunk->lengths.count; i++) {
    if (chunk->lengths.items[i].start_s <= time_s) {
      found = &chunk->lengths.items[i];
    }
  }
  return found;
}

static bool is_active(const blis__servegen_chunk *chunk, const window *w) {
  for (size_t i = 0; i < chunk->rows.count; i++) {
    const blis__servegen_row *row = &chunk->rows.items[i];
    if (matches(row, w) && lengths_at(chunk, row->start_s) != NULL) {
      return true;
    }
  }
  return false;
}

static void list_active(conversion *c, const window *w) {
  c->active_count = 0;
  for (size_t i = 0; i < c->data->chunks.count; i++) {
    if (is_active(&c->data->chunks.items[i], w)) {
      c->active[c->active_count++] = (uint32_t)i;
    }
  }
}

/* Cohorts. */

/* Returns one of the active chunks first, first + CLASSES, ... */
static const blis__servegen_chunk *member(const conversion *c, size_t index) {
  return &c->data->chunks.items[c->active[index]];
}

static blis_status make_distribution(const conversion *c, const char *type,
                                     const blis_distribution_param *params, size_t count,
                                     blis_distribution_spec *spec, blis_error *error) {
  blis_distribution_param *copy = blis_arena_new(c->arena, count * sizeof *copy);
  BLIS_TRY_NEW(copy, error);
  memcpy(copy, params, count * sizeof *copy);
  *spec = (blis_distribution_spec){type, copy, count};
  return BLIS_OK;
}

/* Computes, for one chunk, the mean over all days of the fits for a time of day. */
static bool fit_of_chunk(const blis__servegen_chunk *chunk, const window *w, bool is_input,
                         double *mu, double *sigma) {
  const blis__servegen_lengths *at = lengths_at(chunk, w->start_s);
  size_t days = 0;
  *mu = 0;
  *sigma = 0;
  for (size_t i = 0; at != NULL && i < chunk->lengths.count; i++) {
    const blis__servegen_lengths *lengths = &chunk->lengths.items[i];
    const blis__servegen_fit *fit = is_input ? &lengths->input : &lengths->output;
    if (lengths->start_s % DAY_S == at->start_s % DAY_S && fit->has_data) {
      *mu += fit->mu;
      *sigma += fit->sigma;
      days++;
    }
  }
  if (days > 0) {
    *mu /= (double)days;
    *sigma /= (double)days;
  }
  return days > 0;
}

static blis_status fit_lengths(const conversion *c, const window *w, size_t first, bool is_input,
                               blis_distribution_spec *spec, blis_error *error) {
  double mu = 0;
  double sigma = 0;
  size_t count = 0;
  for (size_t i = first; i < c->active_count; i += CLASSES) {
    double own_mu;
    double own_sigma;
    if (fit_of_chunk(member(c, i), w, is_input, &own_mu, &own_sigma)) {
      mu += own_mu;
      sigma += own_sigma;
      count++;
    }
  }
  if (count > 0) {
    const blis_distribution_param fitted[] = {{"mu", mu / (double)count},
                                              {"sigma", sigma / (double)count}};
    return make_distribution(c, "lognormal", fitted, 2, spec, error);
  }
  const blis_distribution_param usual[] = {
      {"mean", is_input ? 512 : 128}, {"std_dev", is_input ? 128 : 32}, {"min", 1}, {"max", 32768}};
  return make_distribution(c, "gaussian", usual, 4, spec, error);
}

/* Sums over all rows of the members in the window. */
typedef struct row_sums {
  double rate; /* sum over members of their mean rates */
  double cv;
  double shape;
  double scale_us;
  size_t rows;
  size_t gammas;
  size_t weibulls;
} row_sums;

static void add_member(row_sums *sums, const blis__servegen_chunk *chunk, const window *w) {
  double rate = 0;
  size_t days = 0;
  for (size_t i = 0; i < chunk->rows.count; i++) {
    const blis__servegen_row *row = &chunk->rows.items[i];
    if (!matches(row, w)) {
      continue;
    }
    rate += row->rate;
    days++;
    sums->cv += row->cv;
    sums->shape += row->shape;
    sums->scale_us += row->scale_us;
    sums->gammas += row->is_gamma;
    sums->weibulls += row->is_weibull;
  }
  sums->rows += days;
  sums->rate += days > 0 ? rate / (double)days : 0;
}

static row_sums sum_rows(const conversion *c, const window *w, size_t first) {
  row_sums sums = {0};
  for (size_t i = first; i < c->active_count; i += CLASSES) {
    add_member(&sums, member(c, i), w);
  }
  return sums;
}

/* Returns the mean arrival process, without means that are invalid. */
static blis_arrival_spec mean_arrival(const row_sums *sums) {
  double rows = (double)sums->rows;
  blis_arrival_spec arrival = {.process = sums->weibulls > sums->gammas ? "weibull" : "gamma",
                               .cv = sums->cv / rows,
                               .shape = sums->shape / rows,
                               .scale = sums->scale_us / rows};
  arrival.has_cv = arrival.cv > 0;
  arrival.has_shape = arrival.shape > 0 && arrival.scale > 0;
  arrival.has_scale = arrival.has_shape;
  return arrival;
}

static blis_status name_cohort(const conversion *c, const char *prefix, int class,
                               blis_cohort_spec *cohort, blis_error *error) {
  char name[64];
  snprintf(name, sizeof name, "%s-%s", prefix, dealt_classes[class]);
  cohort->client.id = blis_arena_text(c->arena, name, strlen(name));
  cohort->client.slo_class = dealt_classes[class];
  return cohort->client.id != NULL ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status make_spike(const conversion *c, int64_t start_s, double rate,
                              blis_cohort_spec *cohort, blis_error *error) {
  blis_spike_spec *spike = blis_arena_new(c->arena, sizeof *spike);
  BLIS_TRY_NEW(spike, error);
  *spike = (blis_spike_spec){.start_us = start_s * 1000000,
                             .duration_us = c->from->window_secs * 1000000,
                             .trace_rate = rate,
                             .has_trace_rate = true};
  cohort->spike = spike;
  return BLIS_OK;
}

/* Creates a cohort from the members of one class; none if they send no requests. */
static blis_status make_cohort(conversion *c, const window *w, const char *prefix, int class,
                               int64_t start_s, blis_cohort_spec **made, blis_error *error) {
  size_t first = (size_t) class;
  row_sums sums = sum_rows(c, w, first);
  *made = NULL;
  if (first >= c->active_count || !(sums.rate > 0)) {
    return BLIS_OK;
  }
  blis_cohort_spec *cohort = &c->cohorts[c->cohort_count];
  *cohort = (blis_cohort_spec){
      .client = {.rate_fraction = 1, .is_streaming = true, .arrival = mean_arrival(&sums)},
      .population = (int64_t)((c->active_count - first - 1) / CLASSES + 1)};
  BLIS_TRY(name_cohort(c, prefix, class, cohort, error));
  BLIS_TRY(fit_lengths(c, w, first, true, &cohort->client.input, error));
  BLIS_TRY(fit_lengths(c, w, first, false, &cohort->client.output, error));
  BLIS_TRY(make_spike(c, start_s, sums.rate, cohort, error));
  c->cohort_count++;
  *made = cohort;
  return BLIS_OK;
}

/* Language: one window in each of three parts of the day. */

static blis_status convert_language(conversion *c, blis_error *error) {
  window windows[PERIODS];
  for (int i = 0; i < PERIODS; i++) {
    windows[i] = (window){periods[i].start_s + ROW_S * blis_random_intn(&c->random, 3), true};
  }
  int64_t step_s = c->from->window_secs + c->from->drain_secs;
  for (int i = 0; i < PERIODS; i++) {
    list_active(c, &windows[i]);
    blis_random_shuffle(&c->random, c->active, c->active_count, sizeof *c->active);
    for (int j = 0; j < CLASSES; j++) {
      blis_cohort_spec *made;
      BLIS_TRY(make_cohort(c, &windows[i], periods[i].name, sorted_classes[j], i * step_s, &made,
                           error));
    }
  }
  return BLIS_OK;
}

/* Reasoning: the busiest window of the first day. */

static window busiest_window(conversion *c) {
  window best = {0, false};
  size_t most = 0;
  for (int64_t i = 0; i < ROWS_PER_DAY; i++) {
    const window w = {i * ROW_S, false};
    list_active(c, &w);
    if (c->active_count > most) {
      most = c->active_count;
      best = w;
    }
  }
  return best;
}

static blis_status make_reason_ratio(const conversion *c, size_t first,
                                     blis_distribution_spec *spec, blis_error *error) {
  static const char *const names[] = {
#define TEN(d) d "0", d "1", d "2", d "3", d "4", d "5", d "6", d "7", d "8", d "9"
      TEN(""),  TEN("1"), TEN("2"), TEN("3"), TEN("4"), TEN("5"),
      TEN("6"), TEN("7"), TEN("8"), TEN("9"), "100"
#undef TEN
  };
  double sums[BLIS__PERCENTS] = {0};
  size_t count = 0;
  for (size_t i = first; i < c->active_count; i += CLASSES) {
    const blis__servegen_chunk *chunk = member(c, i);
    count += chunk->has_reason_ratios;
    for (int j = 0; j < BLIS__PERCENTS; j++) {
      sums[j] += chunk->reason_weights[j];
    }
  }
  blis_distribution_param params[BLIS__PERCENTS];
  size_t used = 0;
  for (int j = 0; j < BLIS__PERCENTS; j++) {
    if (sums[j] > 0) {
      params[used++] = (blis_distribution_param){names[j], sums[j] / (double)count};
    }
  }
  return used > 0 ? make_distribution(c, "empirical", params, used, spec, error) : BLIS_OK;
}

static blis_status convert_reasoning(conversion *c, blis_error *error) {
  static const blis_multi_turn_spec one_round = {.max_rounds = 1};
  window w = busiest_window(c);
  list_active(c, &w);
  blis_random_shuffle(&c->random, c->active, c->active_count, sizeof *c->active);
  for (int j = 0; j < CLASSES; j++) {
    blis_cohort_spec *cohort;
    BLIS_TRY(make_cohort(c, &w, "reasoning", sorted_classes[j], 0, &cohort, error));
    if (cohort != NULL) {
      cohort->client.arrival = (blis_arrival_spec){.process = "poisson"};
      cohort->client.multi_turn = &one_round;
      cohort->client.loop = BLIS_LOOP_OPEN;
      BLIS_TRY(
          make_reason_ratio(c, (size_t)sorted_classes[j], &cohort->client.reason_ratio, error));
    }
  }
  return BLIS_OK;
}

/* Top level. */

static blis_status convert(conversion *c, blis_workload_spec *spec, blis_error *error) {
  BLIS_TRY(blis__servegen_read(c->data, c->from->path, error));
  size_t chunks = c->data->chunks.count;
  size_t most = (size_t)PERIODS * CLASSES;
  c->cohorts = blis_arena_new(c->arena, (most + spec->cohort_count) * sizeof *c->cohorts);
  c->active = blis_arena_new(c->arena, chunks * sizeof *c->active);
  BLIS_TRY_NEW(c->cohorts, error);
  BLIS_TRY_NEW(c->active, error);
  if (spec->cohort_count > 0) {
    memcpy(c->cohorts, spec->cohorts, spec->cohort_count * sizeof *c->cohorts);
    c->cohort_count = spec->cohort_count;
  }
  blis_random_init(&c->random, spec->seed);
  bool is_reasoning = c->data->is_reasoning;
  BLIS_TRY(is_reasoning ? convert_reasoning(c, error) : convert_language(c, error));
  if (c->cohort_count == spec->cohort_count) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: none of %zu chunks is active in the converted windows", c->from->path,
                     chunks);
  }
  spec->cohorts = c->cohorts;
  spec->cohort_count = c->cohort_count;
  spec->aggregate_rate = 0;
  spec->category = is_reasoning ? "reasoning" : spec->category;
  return BLIS_OK;
}

blis_status blis_servegen_expand(const blis_servegen_spec *from, const blis_alloc *alloc,
                                 blis_arena *arena, blis_workload_spec *spec,
                                 blis_status (*note)(void *ud, const char *text), void *ud,
                                 blis_spec_fault *fault, blis_error *error) {
  *fault = (blis_spec_fault){.member = NULL, .whole = from};
  if (from->path == NULL || *from->path == '\0') {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "servegen_data: path is missing; expected the folder with "
                     "the files chunk-<id>-trace.csv");
  }
  const blis__section_check values = {.where = "servegen_data: ", .fault = fault};
  BLIS_TRY(blis__check_section(&values, &blis__servegen_section, from, error));
  blis_servegen_spec filled = *from;
  filled.window_secs = from->window_secs > 0 ? from->window_secs : DEFAULT_WINDOW_S;
  filled.drain_secs = from->drain_secs > 0 ? from->drain_secs : DEFAULT_DRAIN_S;
  blis__servegen_data data = {.alloc = *alloc,
                              .rounds_percents =
                                  !blis_workload_rules_of(spec->rules).truncates_percents,
                              .note = note,
                              .note_ud = ud};
  blis_arena_init(&data.arena, alloc);
  conversion c = {.from = &filled, .data = &data, .arena = arena};
  blis_status status = convert(&c, spec, error);
  blis__servegen_end(&data);
  return status;
}
