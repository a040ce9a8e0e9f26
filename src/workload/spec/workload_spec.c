#include "workload/spec/workload_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/containers/winner_tree.h"
#include "workload/spec/sections.h"

enum { WHERE_SIZE = 160 };

/* The values to check, and the start of messages. */
typedef struct check {
  const blis_workload_spec *spec;
  const blis_client_spec *client;
  const void *whole;      /* the checked object, for fault */
  blis_spec_fault *fault; /* NULL = not requested */
  char where[WHERE_SIZE];
} check;

static bool is_empty(const char *text) {
  return text == NULL || *text == '\0';
}

const blis_client_spec *blis_workload_spec_client(const blis_workload_spec *spec, size_t index) {
  return index < spec->client_count ? &spec->clients[index]
                                    : &spec->cohorts[index - spec->client_count].client;
}

const char *blis_client_label(const blis_workload_spec *spec, size_t index,
                              char label[BLIS_CLIENT_LABEL_SIZE]) {
  const blis_client_spec *client = blis_workload_spec_client(spec, index);
  bool is_cohort = index >= spec->client_count;
  size_t number = is_cohort ? index - spec->client_count + 1 : index + 1;
  bool has_id = !is_empty(client->id);
  snprintf(label, BLIS_CLIENT_LABEL_SIZE, "%s %zu%s%.60s%s", is_cohort ? "cohort" : "client",
           number, has_id ? " ('" : "", has_id ? client->id : "", has_id ? "')" : "");
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

/* Combinations of members. */

/* Records the invalid member; NULL = something is missing. */
static void note(const check *c, const void *member) {
  if (c->fault != NULL) {
    *c->fault = (blis_spec_fault){.member = member, .whole = c->whole};
  }
}

/* Returns the same check for a part. */
static check check_of(const check *c, const void *part) {
  check of_part = *c;
  of_part.whole = part;
  note(&of_part, NULL);
  return of_part;
}

static blis_status fail_both(const check *c, const char *first, const char *second,
                             blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID, "%s%s and %s exclude each other; remove one of them",
                   c->where, first, second);
}

/* Parts of a client. */

static blis_status check_arrival(const check *c, const blis_arrival_spec *arrival,
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
  if (client->concurrency > 0) {
    return client->rate_fraction != 0 ? fail_both(c, "concurrency", "rate_fraction", error)
                                      : BLIS_OK;
  }
  if (client->rate_fraction == 0) {
    note(c, &client->rate_fraction);
    return blis_fail(error, BLIS_ERR_INVALID, "%srate_fraction is 0; expected a number above 0",
                     c->where);
  }
  return check_arrival(c, &client->arrival, error);
}

static blis_status check_windows(const check *c, blis_error *error) {
  const blis_client_spec *client = c->client;
  bool is_absolute = c->spec->aggregate_rate == 0 && client->concurrency == 0;
  for (size_t i = 0; i < client->window_count; i++) {
    const blis_window_spec *window = &client->windows[i];
    check in_window = check_of(c, window);
    snprintf(in_window.where, sizeof in_window.where, "%.120slifecycle window %zu: ", c->where,
             i + 1);
    if (window->end_us <= window->start_us) {
      note(&in_window, &window->end_us);
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%send_us is %" PRId64 "; expected more than start_us, %" PRId64,
                       in_window.where, window->end_us, window->start_us);
    }
    if (!window->has_trace_rate && is_absolute) {
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

/* Checks that a modality has both its tokens and their number, because otherwise it has no
   effect. */
static blis_status check_modality(const check *c, const char *name,
                                  const blis_distribution_spec *tokens,
                                  const blis_distribution_spec *count, blis_error *error) {
  if (is_empty(tokens->type) == is_empty(count->type)) {
    return BLIS_OK;
  }
  bool has_tokens = !is_empty(tokens->type);
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%smultimodal: %s%s_distribution is missing; it is required "
                   "with %s%s_distribution",
                   c->where, name, has_tokens ? "_count" : "", name, has_tokens ? "" : "_count");
}

static blis_status check_multimodal(const check *c, blis_error *error) {
  const blis_multimodal_spec *m = c->client->multimodal;
  if (m == NULL) {
    return BLIS_OK;
  }
  const check in_prompts = check_of(c, m);
  BLIS_TRY(check_modality(&in_prompts, "image", &m->image, &m->image_count, error));
  BLIS_TRY(check_modality(&in_prompts, "audio", &m->audio, &m->audio_count, error));
  BLIS_TRY(check_modality(&in_prompts, "video", &m->video, &m->video_count, error));
  bool is_there = !is_empty(m->text.type) || !is_empty(m->image.type) || !is_empty(m->audio.type) ||
                  !is_empty(m->video.type);
  return is_there || blis_workload_rules_of(c->spec->rules).takes_empty_multimodal
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_INVALID,
                         "%smultimodal is empty; it needs text_distribution or "
                         "a modality with its tokens and count",
                         c->where);
}

/* Checks the lengths. Multimodal prompts have separate lengths. */
static blis_status check_lengths(const check *c, blis_error *error) {
  bool has_input =
      !is_empty(c->client->input.type) ||
      (c->client->multimodal != NULL && !blis_workload_rules_of(c->spec->rules).needs_input);
  if (has_input && !is_empty(c->client->output.type)) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s%s_distribution is missing, or its type is",
                   c->where, has_input ? "output" : "input");
}

static blis_status check_client(const check *c, blis_error *error) {
  BLIS_TRY(check_rate(c, error));
  BLIS_TRY(check_lengths(c, error));
  BLIS_TRY(check_windows(c, error));
  note(c, NULL);
  return c->client->multi_turn != NULL && c->client->multimodal != NULL &&
                 !blis_workload_rules_of(c->spec->rules).takes_multimodal_turns
             ? fail_both(c, "multimodal", "reasoning.multi_turn", error)
             : check_multimodal(c, error);
}

/* Cohorts. */

static blis_status check_cohort(const check *c, const blis_cohort_spec *cohort, blis_error *error) {
  if (!is_empty(cohort->prefix_sharing) && strcmp(cohort->prefix_sharing, "per_member") == 0 &&
      is_empty(c->client->prefix_group)) {
    return blis_fail(error, BLIS_ERR_INVALID, "%sprefix_sharing per_member needs a prefix_group",
                     c->where);
  }
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
    return blis_fail(error, BLIS_ERR_INVALID, "%sa cohort cannot have %s without aggregate_rate",
                     c->where, cohort->diurnal != NULL ? "diurnal" : "drain");
  }
  return BLIS_OK;
}

/* All checks. */

static size_t total_count(const blis_workload_spec *spec) {
  return spec->client_count + spec->cohort_count;
}

static blis_status check_number_of_clients(const blis_workload_spec *spec, blis_error *error) {
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
                     "the workload has %" PRIu64 " clients; at most %" PRIu32 " are possible",
                     clients, BLIS_WINNER_TREE_OWNERS_MAX);
  }
  return BLIS_OK;
}

static blis_status check_slo_classes(const check *c, blis_error *error) {
  const blis_workload_spec *spec = c->spec;
  bool first_is_empty = is_empty(blis_workload_spec_client(spec, 0)->slo_class);
  for (size_t i = 1; i < total_count(spec); i++) {
    if (is_empty(blis_workload_spec_client(spec, i)->slo_class) != first_is_empty) {
      (void)check_of(c, blis_workload_spec_client(spec, i));
      char first[BLIS_CLIENT_LABEL_SIZE];
      char other[BLIS_CLIENT_LABEL_SIZE];
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s has %s slo_class and %s has %s; either all clients and cohorts "
                       "need one or none",
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
                     blis_client_label(spec, users, first), blis_client_label(spec, turns, second));
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

static blis_status check_rates(const blis_workload_spec *spec, blis_error *error) {
  if (spec->aggregate_rate != 0 || !has_rate_client(spec)) {
    return BLIS_OK;
  }
  for (size_t i = 0; i < spec->client_count; i++) {
    const blis_client_spec *client = &spec->clients[i];
    if (client->concurrency == 0 && client->window_count == 0) {
      char label[BLIS_CLIENT_LABEL_SIZE];
      return blis_fail(error, BLIS_ERR_INVALID,
                       "aggregate_rate is 0 and %s has no lifecycle windows "
                       "with a trace_rate; set one of them",
                       blis_client_label(spec, i, label));
    }
  }
  return BLIS_OK;
}

/* Returns whether the requests of a client end without a limit. */
static bool is_bounded(const blis_workload_spec *spec, size_t index) {
  const blis_client_spec *client = blis_workload_spec_client(spec, index);
  bool has_windows = client->window_count > 0;
  if (index >= spec->client_count) {
    const blis_cohort_spec *cohort = &spec->cohorts[index - spec->client_count];
    has_windows = cohort->diurnal != NULL || cohort->spike != NULL || cohort->drain != NULL;
  }
  bool is_single = client->multi_turn != NULL && client->multi_turn->single_session;
  return client->concurrency == 0 && (has_windows || is_single || client->spread_count > 0);
}

static blis_status check_end(const blis_workload_spec *spec, blis_error *error) {
  if (spec->num_requests > 0 || spec->horizon_us > 0) {
    return BLIS_OK;
  }
  for (size_t i = 0; i < total_count(spec); i++) {
    if (!is_bounded(spec, i)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "the workload never ends: num_requests and horizon are "
                       "both 0; set one of them");
    }
  }
  return BLIS_OK;
}

blis_status blis_workload_spec_check(const blis_workload_spec *spec, blis_spec_fault *fault,
                                     blis_error *error) {
  check c = {.spec = spec, .whole = spec, .fault = fault};
  note(&c, NULL);
  BLIS_TRY(check_number_of_clients(spec, error));
  const blis__section_check values = {.where = "",
                                      .takes_any_growth =
                                          blis_workload_rules_of(spec->rules).takes_any_growth,
                                      .fault = fault};
  BLIS_TRY(blis__check_section(&values, &blis__spec_section, spec, error));
  BLIS_TRY(check_rates(spec, error));
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
  return check_end(spec, error);
}
