/*
 * detector_filters.c - filters llm-d.utilization-detector and llm-d.concurrency-detector: keep the
 * candidates that are not saturated.
 */
#include <string.h>

#include "policy/contract/entry.h"

/* The limits that are set depend on the filter. */
typedef struct detector {
  double queue;
  double usage;
  double requests;
  double tokens;
  double headroom;
} detector;

#define LIMIT(given_name, usual, given_unit, text, into)                                           \
  BLIS__NUMBER(given_name, 0, 1e15, usual, given_unit, text, BLIS__INTO(detector, into))

#define HEADROOM LIMIT("headroom", 0, "", "raises both limits (0.1: by 10 %)", headroom)

static const blis_param_spec utilization_params[] = {
    LIMIT("queue_depth_threshold", 5, "requests", "waiting requests of a saturated instance",
          queue),
    LIMIT("kv_cache_util_threshold", 0.8, "0 to 1", "use of the KV cache of a saturated instance",
          usage),
    HEADROOM,
};

static blis_status filter_utilization(const blis_question *q, bool *keep) {
  const blis_routing_view *view = q->view;
  const detector *self = q->state;
  double factor = 1 + self->headroom;
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *usage = view->columns[BLIS_SIGNAL_KV_UTILIZATION];
  size_t kept = 0;
  for (size_t i = 0; i < view->count; i++) {
    keep[i] = waiting[i] < self->queue * factor && usage[i] < self->usage * factor;
    kept += keep[i];
  }
  if (kept == 0) {
    memset(keep, true, view->count);
  }
  return BLIS_OK;
}

const blis_policy_entry blis__filter_utilization_detector = {
    .kind = BLIS_POLICY_FILTER,
    .name = "llm-d.utilization-detector",
    .summary = "keeps candidates with a short queue and room in the KV cache; "
               "keeps all if no candidate qualifies",
    .source = "llm-d router ebab6879",
    BLIS__PARAMS(utilization_params),
    .ops = &(const blis_filter_ops){.filter = filter_utilization},
    .state_size = sizeof(detector),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
};

static const blis_param_spec concurrency_params[] = {
    LIMIT("max_concurrency", 100, "requests", "in flight at a saturated instance", requests),
    LIMIT("max_token_concurrency", 1e15, "tokens",
          "uncached tokens in flight at a saturated instance (mode tokens: "
          "1,000,000)",
          tokens),
    HEADROOM,
};

static blis_status filter_concurrency(const blis_question *q, bool *keep) {
  const blis_routing_view *view = q->view;
  const detector *self = q->state;
  double factor = 1 + self->headroom;
  const double *requests = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  const double *tokens = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  for (size_t i = 0; i < view->count; i++) {
    keep[i] = requests[i] < self->requests * factor && tokens[i] < self->tokens * factor;
  }
  return BLIS_OK;
}

const blis_policy_entry blis__filter_concurrency_detector = {
    .kind = BLIS_POLICY_FILTER,
    .name = "llm-d.concurrency-detector",
    .summary = "keeps candidates with few requests (and tokens) in flight; "
               "rejects the request if no candidate qualifies",
    .source = "llm-d router ebab6879",
    BLIS__PARAMS(concurrency_params),
    .ops = &(const blis_filter_ops){.filter = filter_concurrency},
    .state_size = sizeof(detector),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS),
};
