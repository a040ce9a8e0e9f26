#include "workload/spec/workload_spec.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/time.h"
#include "base/winner_tree.h"
#include "workload/workload.h"

enum { MAX_ROUNDS = 1000000, MAX_USERS = 1000000, WHERE_SIZE = 160 };

static const char *const slo_classes[] = {"critical", "standard", "sheddable",
                                          "batch", "background"};
static const char *const categories[] = {"language", "multimodal", "reasoning"};
static const char *const growths[] = {"accumulate"};
static const char *const sharings[] = {"shared", "per_member"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What is being checked, and how messages begin. */
typedef struct check {
  const blis_workload_spec *spec;
  const blis_client_spec *client;
  const void *whole;      /* what is checked, for fault */
  blis_spec_fault *fault; /* NULL = nobody asks */
  char where[WHERE_SIZE];
} check;

static bool is_empty(const char *text) {
  return text == NULL || *text == '\0';
}

const blis_client_spec *
blis_workload_spec_client(const blis_workload_spec *spec, size_t index) {
  return index < spec->client_count
             ? &spec->clients[index]
             : &spec->cohorts[index - spec->client_count].client;
}

const char *blis_client_label(const blis_workload_spec *spec, size_t index,
                              char label[BLIS_CLIENT_LABEL_SIZE]) {
  const blis_client_spec *client = blis_workload_spec_client(spec, index);
  bool is_cohort = index >= spec->client_count;
  size_t number = is_cohort ? index - spec->client_count + 1 : index + 1;
  bool has_id = !is_empty(client->id);
  snprintf(label, BLIS_CLIENT_LABEL_SIZE, "%s %zu%s%.60s%s",
           is_cohort ? "cohort" : "client", number, has_id ? " (\"" : "",
           has_id ? client->id : "", has_id ? "\")" : "");
  return label;
}

bool blis_client_is_closed_loop(const blis_client_spec *client) {
  return client->concurrency > 0 || client->loop == BLIS_LOOP_CLOSED ||
         (client->loop == BLIS_LOOP_DEFAULT && client->multi_turn != NULL);
}

bool blis_workload_spec_has_follow_ups(const blis_workload_spec *spec) {
  for (size_t i = 0; i < spec->client_count + spec->cohort_count; i++) {
    const blis_client_spec *client = blis_workload_spec_client(spec, i);
    if (client->concurrency > 0 ||
        (client->multi_turn != NULL && blis_client_is_closed_loop(client))) {
      return true;
    }
  }
  return false;
}

/* Single values. */

/* Remembers the wrong member, or with NULL that something is missing. */
static void note(const check *c, const void *member) {
  if (c->fault != NULL) {
    *c->fault = (blis_spec_fault){.member = member, .whole = c->whole};
  }
}

/* The same check of a part. */
static check check_of(const check *c, const void *part) {
  check of_part = *c;
  of_part.whole = part;
  note(&of_part, NULL);
  return of_part;
}

static blis_status check_positive(const check *c, const char *key,
                                  const double *value, blis_error *error) {
  if (!(*value > 0 && *value <= DBL_MAX)) {
    note(c, value);
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s%s is %g; it must be a finite number above 0", c->where,
                     key, *value);
  }
  return BLIS_OK;
}

static blis_status check_number(const check *c, const char *key,
                                const double *value, double min,
                                blis_error *error) {
  if (!(*value >= min && *value <= DBL_MAX)) {
    note(c, value);
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s%s is %g; it must be a finite number of at least %g",
                     c->where, key, *value, min);
  }
  return BLIS_OK;
}

static blis_status check_range(const check *c, const char *key,
                               const int64_t *value, int64_t min, int64_t max,
                               blis_error *error) {
  if (*value >= min && *value <= max) {
    return BLIS_OK;
  }
  note(c, value);
  if (max == INT64_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s%s is %" PRId64 "; it must be at least %" PRId64,
                     c->where, key, *value, min);
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s%s is %" PRId64 "; it must be from %" PRId64
                   " to %" PRId64,
                   c->where, key, *value, min, max);
}

/* The empty text is always allowed. */
static blis_status check_word(const check *c, const char *key,
                              const char *const *member,
                              const char *const *words, size_t count,
                              blis_error *error) {
  const char *word = *member;
  if (is_empty(word)) {
    return BLIS_OK;
  }
  blis_nearest nearest = {.wanted = word};
  for (size_t i = 0; i < count; i++) {
    if (strcmp(words[i], word) == 0) {
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, words[i]);
  }
  note(c, member);
  return blis_fail(error, BLIS_ERR_INVALID, "%sunknown %s '%.100s'%s", c->where,
                   key, word, blis_nearest_suggest(&nearest).text);
}

static blis_status fail_both(const check *c, const char *first,
                             const char *second, blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s%s and %s exclude each other; leave one of them out",
                   c->where, first, second);
}

/* Parts of a client. */

static blis_status check_arrival(const check *c,
                                 const blis_arrival_spec *arrival,
                                 blis_error *error) {
  char where[WHERE_SIZE + 16];
  snprintf(where, sizeof where, "%sarrival", c->where);
  blis_status status = blis_arrival_check(arrival, where, error);
  if (status != BLIS_OK) {
    note(c, arrival);
  }
  return status;
}

static blis_status check_rate(const check *c, blis_error *error) {
  const blis_client_spec *client = c->client;
  BLIS_TRY(
      check_range(c, "concurrency", &client->concurrency, 0, MAX_USERS, error));
  BLIS_TRY(check_range(c, "think_time_us", &client->think_time_us, 0,
                       BLIS_TIME_SPAN_MAX_US, error));
  if (client->concurrency == 0) {
    BLIS_TRY(check_positive(c, "rate_fraction", &client->rate_fraction, error));
    return check_arrival(c, &client->arrival, error);
  }
  return client->rate_fraction != 0
             ? fail_both(c, "concurrency", "rate_fraction", error)
             : BLIS_OK;
}

static blis_status check_windows(const check *c, blis_error *error) {
  const blis_client_spec *client = c->client;
  bool is_absolute = c->spec->aggregate_rate == 0 && client->concurrency == 0;
  for (size_t i = 0; i < client->window_count; i++) {
    const blis_window_spec *window = &client->windows[i];
    check in_window = check_of(c, window);
    snprintf(in_window.where, sizeof in_window.where,
             "%.120slifecycle window %zu: ", c->where, i + 1);
    BLIS_TRY(check_range(&in_window, "start_us", &window->start_us, 0,
                         INT64_MAX - 1, error));
    BLIS_TRY(check_range(&in_window, "end_us", &window->end_us,
                         window->start_us + 1, INT64_MAX, error));
    if (window->has_trace_rate) {
      BLIS_TRY(check_number(&in_window, "trace_rate", &window->trace_rate, 0,
                            error));
    } else if (is_absolute) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%strace_rate is missing; without aggregate_rate every "
                       "window needs one",
                       in_window.where);
    }
    if (window->has_arrival) {
      BLIS_TRY(check_arrival(&in_window, &window->arrival, error));
    }
  }
  return BLIS_OK;
}

static blis_status check_turns(const check *c, blis_error *error) {
  const blis_multi_turn_spec *turns = c->client->multi_turn;
  if (turns == NULL) {
    return BLIS_OK;
  }
  check in_turns = check_of(c, turns);
  snprintf(in_turns.where, sizeof in_turns.where,
           "%.120smulti_turn: ", c->where);
  BLIS_TRY(check_range(&in_turns, "max_rounds", &turns->max_rounds, 1,
                       MAX_ROUNDS, error));
  BLIS_TRY(check_range(&in_turns, "think_time_us", &turns->think_time_us, 0,
                       BLIS_TIME_SPAN_MAX_US, error));
  if (!c->spec->reproduce_go_blis_defects) {
    BLIS_TRY(check_word(&in_turns, "context_growth", &turns->context_growth,
                        growths, COUNT(growths), error));
  }
  note(c, NULL);
  return c->client->multimodal != NULL
             ? fail_both(c, "multimodal", "reasoning.multi_turn", error)
             : BLIS_OK;
}

/* A modality needs its tokens and their number, or it has no effect. */
static blis_status check_modality(const check *c, const char *name,
                                  const blis_distribution_spec *tokens,
                                  const blis_distribution_spec *count,
                                  blis_error *error) {
  if (is_empty(tokens->type) == is_empty(count->type)) {
    return BLIS_OK;
  }
  bool has_tokens = !is_empty(tokens->type);
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%smultimodal: %s%s_distribution is missing; it goes with "
                   "%s%s_distribution",
                   c->where, name, has_tokens ? "_count" : "", name,
                   has_tokens ? "" : "_count");
}

static blis_status check_multimodal(const check *c, blis_error *error) {
  const blis_multimodal_spec *m = c->client->multimodal;
  if (m == NULL) {
    return BLIS_OK;
  }
  const check in_prompts = check_of(c, m);
  BLIS_TRY(
      check_modality(&in_prompts, "image", &m->image, &m->image_count, error));
  BLIS_TRY(
      check_modality(&in_prompts, "audio", &m->audio, &m->audio_count, error));
  BLIS_TRY(
      check_modality(&in_prompts, "video", &m->video, &m->video_count, error));
  bool is_there = !is_empty(m->text.type) || !is_empty(m->image.type) ||
                  !is_empty(m->audio.type) || !is_empty(m->video.type);
  return is_there || c->spec->reproduce_go_blis_defects
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_INVALID,
                         "%smultimodal is empty; it needs text_distribution, "
                         "or a modality with its tokens and their number",
                         c->where);
}

/* Multimodal prompts have other lengths, but for BLIS (Go) with windows. */
static blis_status check_lengths(const check *c, blis_error *error) {
  bool has_input =
      !is_empty(c->client->input.type) ||
      (c->client->multimodal != NULL && !c->spec->reproduce_go_blis_defects);
  if (has_input && !is_empty(c->client->output.type)) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s%s_distribution is missing, or its type is", c->where,
                   has_input ? "output" : "input");
}

static blis_status check_client(const check *c, blis_error *error) {
  const blis_client_spec *client = c->client;
  BLIS_TRY(check_word(c, "slo_class", &client->slo_class, slo_classes,
                      COUNT(slo_classes), error));
  BLIS_TRY(check_rate(c, error));
  BLIS_TRY(check_range(c, "prefix_length", &client->prefix_tokens, 0,
                       BLIS_WORKLOAD_MAX_TOKENS, error));
  BLIS_TRY(check_range(c, "timeout", &client->timeout_us, 0, INT64_MAX, error));
  BLIS_TRY(check_range(c, "slo_target_us", &client->slo_target_us, 0, INT64_MAX,
                       error));
  BLIS_TRY(check_lengths(c, error));
  BLIS_TRY(check_windows(c, error));
  BLIS_TRY(check_turns(c, error));
  return check_multimodal(c, error);
}

/* Cohorts. */

static blis_status check_diurnal(const check *c,
                                 const blis_diurnal_spec *diurnal,
                                 blis_error *error) {
  if (diurnal == NULL) {
    return BLIS_OK;
  }
  const check in_day = check_of(c, diurnal);
  BLIS_TRY(check_range(&in_day, "diurnal: peak_hour", &diurnal->peak_hour, 0,
                       23, error));
  return check_number(&in_day, "diurnal: peak_to_trough_ratio",
                      &diurnal->peak_to_trough_ratio, 1, error);
}

static blis_status check_spike(const check *c, const blis_spike_spec *spike,
                               blis_error *error) {
  if (spike == NULL) {
    return BLIS_OK;
  }
  const check in_spike = check_of(c, spike);
  BLIS_TRY(check_range(&in_spike, "spike: start_time_us", &spike->start_us, 0,
                       INT64_MAX, error));
  BLIS_TRY(check_range(&in_spike, "spike: duration_us", &spike->duration_us, 1,
                       INT64_MAX, error));
  return spike->has_trace_rate ? check_positive(&in_spike, "spike: trace_rate",
                                                &spike->trace_rate, error)
                               : BLIS_OK;
}

static blis_status check_drain(const check *c, const blis_drain_spec *drain,
                               blis_error *error) {
  if (drain == NULL) {
    return BLIS_OK;
  }
  const check in_drain = check_of(c, drain);
  BLIS_TRY(check_range(&in_drain, "drain: start_time_us", &drain->start_us, 0,
                       INT64_MAX, error));
  return check_range(&in_drain, "drain: ramp_duration_us", &drain->ramp_us, 1,
                     INT64_MAX, error);
}

static blis_status check_cohort(const check *c, const blis_cohort_spec *cohort,
                                blis_error *error) {
  BLIS_TRY(check_range(c, "population", &cohort->population, 1,
                       BLIS_WORKLOAD_MAX_POPULATION, error));
  BLIS_TRY(check_word(c, "prefix_sharing", &cohort->prefix_sharing, sharings,
                      COUNT(sharings), error));
  note(c, NULL);
  if (!is_empty(cohort->prefix_sharing) &&
      strcmp(cohort->prefix_sharing, "per_member") == 0 &&
      is_empty(c->client->prefix_group)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%sprefix_sharing per_member needs a prefix_group",
                     c->where);
  }
  BLIS_TRY(check_diurnal(c, cohort->diurnal, error));
  BLIS_TRY(check_spike(c, cohort->spike, error));
  BLIS_TRY(check_drain(c, cohort->drain, error));
  note(c, NULL);
  if (c->spec->aggregate_rate != 0) {
    return BLIS_OK;
  }
  if (cohort->spike == NULL || !cohort->spike->has_trace_rate) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%sspike.trace_rate is missing; without aggregate_rate "
                     "every cohort needs one",
                     c->where);
  }
  if (cohort->diurnal != NULL || cohort->drain != NULL) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%sa cohort cannot have %s without aggregate_rate",
                     c->where, cohort->diurnal != NULL ? "diurnal" : "drain");
  }
  return BLIS_OK;
}

/* All together. */

static size_t total_count(const blis_workload_spec *spec) {
  return spec->client_count + spec->cohort_count;
}

static blis_status check_number_of_clients(const blis_workload_spec *spec,
                                           blis_error *error) {
  if (total_count(spec) == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the workload has no clients; it needs at least one "
                     "client or cohort");
  }
  uint64_t clients = spec->client_count;
  for (size_t i = 0; i < spec->cohort_count; i++) {
    int64_t population = spec->cohorts[i].population;
    clients += population > 0 ? (uint64_t)population : 0;
  }
  if (clients > BLIS_WINNER_TREE_OWNERS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the workload has %" PRIu64 " clients; at most %" PRIu32
                     " are possible",
                     clients, BLIS_WINNER_TREE_OWNERS_MAX);
  }
  return BLIS_OK;
}

static blis_status check_slo_classes(const check *c, blis_error *error) {
  const blis_workload_spec *spec = c->spec;
  bool first_is_empty = is_empty(blis_workload_spec_client(spec, 0)->slo_class);
  for (size_t i = 1; i < total_count(spec); i++) {
    if (is_empty(blis_workload_spec_client(spec, i)->slo_class) !=
        first_is_empty) {
      (void)check_of(c, blis_workload_spec_client(spec, i));
      char first[BLIS_CLIENT_LABEL_SIZE];
      char other[BLIS_CLIENT_LABEL_SIZE];
      return blis_fail(
          error, BLIS_ERR_INVALID,
          "%s has %s slo_class and %s has %s; either all clients "
          "and cohorts have one or none",
          blis_client_label(spec, 0, first), first_is_empty ? "no" : "an",
          blis_client_label(spec, i, other), first_is_empty ? "one" : "none");
    }
  }
  return BLIS_OK;
}

static blis_status check_mix(const check *c, blis_error *error) {
  const blis_workload_spec *spec = c->spec;
  size_t users = SIZE_MAX;
  size_t turns = SIZE_MAX;
  for (size_t i = 0; i < total_count(spec); i++) {
    const blis_client_spec *client = blis_workload_spec_client(spec, i);
    users = client->concurrency > 0 ? i : users;
    turns = client->multi_turn != NULL ? i : turns;
  }
  if (users != SIZE_MAX && turns != SIZE_MAX) {
    (void)check_of(c, blis_workload_spec_client(spec, turns));
    char first[BLIS_CLIENT_LABEL_SIZE];
    char second[BLIS_CLIENT_LABEL_SIZE];
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s has concurrency and %s has multi_turn; a workload can "
                     "have only one of them",
                     blis_client_label(spec, users, first),
                     blis_client_label(spec, turns, second));
  }
  return BLIS_OK;
}

static bool has_rate_client(const blis_workload_spec *spec) {
  for (size_t i = 0; i < total_count(spec); i++) {
    if (blis_workload_spec_client(spec, i)->concurrency == 0) {
      return true;
    }
  }
  return false;
}

static blis_status check_rates(const check *c, blis_error *error) {
  const blis_workload_spec *spec = c->spec;
  if (spec->aggregate_rate != 0) {
    return check_positive(c, "aggregate_rate", &spec->aggregate_rate, error);
  }
  if (!has_rate_client(spec)) {
    return BLIS_OK;
  }
  for (size_t i = 0; i < spec->client_count; i++) {
    const blis_client_spec *client = &spec->clients[i];
    if (client->concurrency == 0 && client->window_count == 0) {
      char label[BLIS_CLIENT_LABEL_SIZE];
      return blis_fail(error, BLIS_ERR_INVALID,
                       "aggregate_rate is 0 and %s has no lifecycle windows "
                       "with a trace_rate; give one of them",
                       blis_client_label(spec, i, label));
    }
  }
  return BLIS_OK;
}

/* True when a client's requests end by themselves. */
static bool is_bounded(const blis_workload_spec *spec, size_t index) {
  const blis_client_spec *client = blis_workload_spec_client(spec, index);
  bool has_windows = client->window_count > 0;
  if (index >= spec->client_count) {
    const blis_cohort_spec *cohort = &spec->cohorts[index - spec->client_count];
    has_windows = cohort->diurnal != NULL || cohort->spike != NULL ||
                  cohort->drain != NULL;
  }
  bool is_single =
      client->multi_turn != NULL && client->multi_turn->single_session;
  return client->concurrency == 0 &&
         (has_windows || is_single || client->spread_count > 0);
}

static blis_status check_end(const check *c, blis_error *error) {
  const blis_workload_spec *spec = c->spec;
  BLIS_TRY(check_range(c, "num_requests", &spec->num_requests, 0, INT64_MAX / 2,
                       error));
  BLIS_TRY(check_range(c, "horizon", &spec->horizon_us, 0, INT64_MAX, error));
  if (spec->num_requests > 0 || spec->horizon_us > 0) {
    return BLIS_OK;
  }
  for (size_t i = 0; i < total_count(spec); i++) {
    if (!is_bounded(spec, i)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "the workload never ends: num_requests and horizon are "
                       "both 0; give one of them");
    }
  }
  return BLIS_OK;
}

static blis_status check_goodput(check *c, blis_error *error) {
  for (size_t i = 0; i < c->spec->goodput_target_count; i++) {
    const blis_goodput_target *target = &c->spec->goodput_targets[i];
    c->whole = target;
    snprintf(c->where, sizeof c->where,
             "goodput_slo_targets.%.40s: ", target->slo_class);
    BLIS_TRY(check_number(c, "ttft_ms", &target->ttft_ms, 0, error));
    BLIS_TRY(check_number(c, "itl_ms", &target->itl_ms, 0, error));
    BLIS_TRY(check_number(c, "e2e_ms", &target->e2e_ms, 0, error));
  }
  return BLIS_OK;
}

blis_status blis_workload_spec_check(const blis_workload_spec *spec,
                                     blis_spec_fault *fault,
                                     blis_error *error) {
  check c = {.spec = spec, .whole = spec, .fault = fault};
  note(&c, NULL);
  BLIS_TRY(check_number_of_clients(spec, error));
  BLIS_TRY(check_word(&c, "category", &spec->category, categories,
                      COUNT(categories), error));
  BLIS_TRY(check_rates(&c, error));
  for (size_t i = 0; i < total_count(spec); i++) {
    char label[BLIS_CLIENT_LABEL_SIZE];
    blis_client_label(spec, i, label);
    snprintf(c.where, sizeof c.where, "%s: ", label);
    c.client = blis_workload_spec_client(spec, i);
    c.whole = c.client;
    note(&c, NULL);
    BLIS_TRY(check_client(&c, error));
    if (i >= spec->client_count) {
      BLIS_TRY(check_cohort(&c, &spec->cohorts[i - spec->client_count], error));
    }
  }
  c.where[0] = '\0';
  c.whole = spec;
  note(&c, NULL);
  BLIS_TRY(check_slo_classes(&c, error));
  BLIS_TRY(check_mix(&c, error));
  BLIS_TRY(check_end(&c, error));
  return check_goodput(&c, error);
}
