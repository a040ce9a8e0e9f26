/*
 * llmd_utilization_filter.c - filter llm-d.utilization-filter: candidates that
 * are within every limit that is set.
 */
#include <string.h>

#include "policy/contract/policy.h"

enum { LIMIT_COUNT = 4, PARAM_COUNT = LIMIT_COUNT + 1 };

static const blis_signal signals[LIMIT_COUNT] = {
    BLIS_SIGNAL_IN_FLIGHT,
    BLIS_SIGNAL_BATCH_SIZE,
    BLIS_SIGNAL_QUEUE_DEPTH,
    BLIS_SIGNAL_KV_UTILIZATION,
};

typedef struct utilization_filter {
  size_t count; /* of the limits that are set */
  blis_signal signals[LIMIT_COUNT];
  double limits[LIMIT_COUNT];
  bool falls_back; /* keeps all rather than none */
} utilization_filter;

static blis_status filter(void *state, const blis_routing_request *request,
                          const blis_routing_view *view, bool *keep,
                          blis_error *error) {
  (void)request, (void)error;
  const utilization_filter *self = state;
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

static void free_state(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(utilization_filter));
}

static const blis_filter_ops ops = {.filter = filter, .free = free_state};

#define LIMIT(given_name, most, given_unit, of)                                \
  {                                                                            \
    .name = (given_name), .kind = BLIS_PARAM_NUMBER, .minimum = 0,             \
    .maximum = (most), .fallback = (most), .unit = (given_unit),               \
    .summary = "most " of " of a candidate"                                    \
  }

static const blis_param_spec params_of[PARAM_COUNT] = {
    LIMIT("max_active_requests", 1e12, "requests", "requests in flight"),
    LIMIT("max_running_requests", 1e12, "requests", "requests in the batch"),
    LIMIT("max_waiting_queue", 1e12, "requests", "waiting requests"),
    LIMIT("max_kv_cache_utilization", 1, "0 to 1", "use of the KV cache"),
    {.name = "fallback_on_empty",
     .kind = BLIS_PARAM_BOOLEAN,
     .fallback = 0,
     .unit = "",
     .summary = "keep all when nobody is within the limits"},
};

static blis_status read_limits(utilization_filter *self,
                               const blis_params *params,
                               blis_signal_set *needs, blis_error *error) {
  *needs = 0;
  for (size_t k = 0; k < LIMIT_COUNT; k++) {
    const blis_param *limit = blis_params_find(params, params_of[k].name);
    if (limit != NULL) {
      self->signals[self->count] = signals[k];
      self->limits[self->count++] = limit->number;
      *needs |= BLIS_SIGNAL_BIT(signals[k]);
    }
  }
  self->falls_back = blis_params_number(params, params_of, PARAM_COUNT,
                                        "fallback_on_empty") != 0;
  if (self->count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "filter llm-d.utilization-filter: no limit is set, "
                     "expected one or more of %s, %s, %s, %s",
                     params_of[0].name, params_of[1].name, params_of[2].name,
                     params_of[3].name);
  }
  return BLIS_OK;
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context, blis_filter *made,
                          blis_error *error) {
  (void)context;
  utilization_filter *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  blis_signal_set needs;
  blis_status status = read_limits(self, params, &needs, error);
  if (status != BLIS_OK) {
    free_state(alloc, self);
    return status;
  }
  *made = (blis_filter){.ops = &ops,
                        .state = self,
                        .alloc = *alloc,
                        .needs = needs,
                        .name = "llm-d.utilization-filter"};
  return BLIS_OK;
}

const blis_filter_entry blis__filter_utilization = {
    .name = "llm-d.utilization-filter",
    .aliases = "",
    .summary = "keeps candidates within every limit that is set",
    .source = "llm-d router ebab6879",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};
