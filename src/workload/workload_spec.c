#include "workload/workload_spec.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/winner_tree.h"
#include "workload/workload.h"

static const char *const slo_classes[] = {"critical", "standard", "sheddable",
                                          "batch", "background"};

enum { SLO_CLASSES = sizeof slo_classes / sizeof *slo_classes };

static bool is_empty(const char *text) {
  return text == NULL || *text == '\0';
}

const char *blis_client_label(const blis_workload_spec *spec, size_t index,
                              char label[BLIS_CLIENT_LABEL_SIZE]) {
  const char *id = spec->clients[index].id;
  if (is_empty(id)) {
    snprintf(label, BLIS_CLIENT_LABEL_SIZE, "client %zu", index + 1);
  } else {
    snprintf(label, BLIS_CLIENT_LABEL_SIZE, "client %zu (\"%.60s\")", index + 1,
             id);
  }
  return label;
}

static blis_status check_slo_class(const blis_workload_spec *spec, size_t index,
                                   const char *label, blis_error *error) {
  const char *slo_class = spec->clients[index].slo_class;
  if (is_empty(slo_class) != is_empty(spec->clients[0].slo_class)) {
    char first[BLIS_CLIENT_LABEL_SIZE];
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s has %s slo_class and %s has %s; either all clients "
                     "have one or none",
                     blis_client_label(spec, 0, first),
                     is_empty(slo_class) ? "an" : "no", label,
                     is_empty(slo_class) ? "none" : "one");
  }
  if (is_empty(slo_class)) {
    return BLIS_OK;
  }
  blis_nearest nearest = {.wanted = slo_class};
  for (size_t i = 0; i < SLO_CLASSES; i++) {
    if (strcmp(slo_classes[i], slo_class) == 0) {
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, slo_classes[i]);
  }
  bool has_word = nearest.word != NULL;
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: unknown slo_class \"%s\"%s%s%s; allowed are critical, "
                   "standard, sheddable, batch and background",
                   label, slo_class, has_word ? " (did you mean \"" : "",
                   has_word ? nearest.word : "", has_word ? "\"?)" : "");
}

static blis_status check_positive(const char *where, const char *key,
                                  double value, blis_error *error) {
  if (!(value > 0 && value <= DBL_MAX)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s%s is %g; it must be a finite number above 0", where,
                     key, value);
  }
  return BLIS_OK;
}

static blis_status check_range(const char *where, const char *key,
                               int64_t value, int64_t max, blis_error *error) {
  if (value < 0 || value > max) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s%s is %" PRId64 "; it must be from 0 to %" PRId64,
                     where, key, value, max);
  }
  return BLIS_OK;
}

static blis_status check_client(const blis_workload_spec *spec, size_t index,
                                blis_error *error) {
  const blis_client_spec *client = &spec->clients[index];
  char label[BLIS_CLIENT_LABEL_SIZE];
  blis_client_label(spec, index, label);
  BLIS_TRY(check_slo_class(spec, index, label, error));
  char where[BLIS_CLIENT_LABEL_SIZE + 16];
  snprintf(where, sizeof where, "%s: ", label);
  BLIS_TRY(
      check_positive(where, "rate_fraction", client->rate_fraction, error));
  BLIS_TRY(check_range(where, "prefix_length", client->prefix_tokens,
                       BLIS_WORKLOAD_MAX_TOKENS, error));
  BLIS_TRY(check_range(where, "timeout", client->timeout_us, INT64_MAX, error));
  snprintf(where, sizeof where, "%s: arrival", label);
  return blis_arrival_check(&client->arrival, where, error);
}

blis_status blis_workload_spec_check(const blis_workload_spec *spec,
                                     blis_error *error) {
  if (spec->client_count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the workload has no clients; it needs at least one");
  }
  if (spec->client_count > BLIS_WINNER_TREE_OWNERS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the workload has %zu clients; at most %" PRIu32
                     " are possible",
                     spec->client_count, BLIS_WINNER_TREE_OWNERS_MAX);
  }
  BLIS_TRY(check_positive("", "aggregate_rate", spec->aggregate_rate, error));
  BLIS_TRY(
      check_range("", "num_requests", spec->num_requests, INT64_MAX, error));
  BLIS_TRY(check_range("", "horizon", spec->horizon_us, INT64_MAX, error));
  if (spec->num_requests == 0 && spec->horizon_us == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the workload never ends: num_requests and horizon are "
                     "both 0; give one of them");
  }
  for (size_t i = 0; i < spec->client_count; i++) {
    BLIS_TRY(check_client(spec, i, error));
  }
  return BLIS_OK;
}

double blis_workload_spec_total_fraction(const blis_workload_spec *spec) {
  double total = 0;
  for (size_t i = 0; i < spec->client_count; i++) {
    total += spec->clients[i].rate_fraction;
  }
  return total;
}
