/*
 * utilization_filter.c - filter llm-d.utilization-filter: keeps the candidates that are within
 * every limit that is set.
 */
#include <string.h>

#include "policy/contract/entry.h"

enum { LIMIT_COUNT = 4 };

static const blis_signal signals[LIMIT_COUNT] = {
    BLIS_SIGNAL_IN_FLIGHT,
    BLIS_SIGNAL_BATCH_SIZE,
    BLIS_SIGNAL_QUEUE_DEPTH,
    BLIS_SIGNAL_KV_UTILIZATION,
};

typedef struct utilization_filter {
  size_t count; /* number of limits that are set */
  blis_signal signals[LIMIT_COUNT];
  double limits[LIMIT_COUNT];
  bool falls_back; /* keeps all candidates if none is within the limits */
} utilization_filter;

static blis_status filter(const blis_question *q, bool *keep) {
  const blis_routing_view *view = q->view;
  const utilization_filter *self = q->state;
  size_t kept = 0;
  for (size_t i = 0; i < view->count; i++) {
    for (size_t k = 0; k < self->count; k++) {
      keep[i] &= view->columns[self->signals[k]][i] <= self->limits[k];
    }
    kept += keep[i];
  }
  if (kept == 0 && self->falls_back) {
    memset(keep, true, view->count);
  }
  return BLIS_OK;
}

#define LIMIT(given_name, most, given_unit, of)                                                    \
  BLIS__NUMBER(given_name, 0, most, most, given_unit, "most " of " of a candidate")

static const blis_param_spec params_of[] = {
    LIMIT("max_active_requests", 1e12, "requests", "requests in flight"),
    LIMIT("max_running_requests", 1e12, "requests", "requests in the batch"),
    LIMIT("max_waiting_queue", 1e12, "requests", "waiting requests"),
    LIMIT("max_kv_cache_utilization", 1, "0 to 1", "use of the KV cache"),
    BLIS__BOOLEAN("fallback_on_empty", 0, "keep all if none is within the limits",
                  BLIS__INTO(utilization_filter, falls_back)),
};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  utilization_filter *self = state;
  for (size_t k = 0; k < LIMIT_COUNT; k++) {
    const blis_param *limit = blis_params_find(setup->params, params_of[k].name);
    if (limit != NULL) {
      self->signals[self->count] = signals[k];
      self->limits[self->count++] = limit->number;
      setup->needs |= BLIS_SIGNAL_BIT(signals[k]);
    }
  }
  if (self->count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "filter llm-d.utilization-filter: no limit is set; "
                     "expected at least one of %s, %s, %s, %s",
                     params_of[0].name, params_of[1].name, params_of[2].name, params_of[3].name);
  }
  return BLIS_OK;
}

const blis_policy_entry blis__filter_utilization = {
    .kind = BLIS_POLICY_FILTER,
    .name = "llm-d.utilization-filter",
    .summary = "keeps candidates within all limits",
    .source = "llm-d router ebab6879",
    BLIS__PARAMS(params_of),
    .ops = &(const blis_filter_ops){.filter = filter},
    .state_size = sizeof(utilization_filter),
    .init = init,
};
