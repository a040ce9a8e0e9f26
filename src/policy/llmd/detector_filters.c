/*
 * llmd_detector_filters.c - filters llm-d.utilization-detector and
 * llm-d.concurrency-detector: candidates that are not saturated.
 */
#include <string.h>

#include "policy/contract/policy.h"

enum { NUMBERS = 3 };

typedef struct detector {
  double numbers[NUMBERS]; /* the parameters in their order */
} detector;

static void free_state(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(detector));
}

static blis_status make(const blis_alloc *alloc, const blis_filter_entry *entry,
                        const blis_filter_ops *ops, blis_signal_set needs,
                        const blis_params *params, blis_filter *made,
                        blis_error *error) {
  detector *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  for (size_t i = 0; i < NUMBERS; i++) {
    self->numbers[i] = blis_params_number(
        params, entry->params, entry->param_count, entry->params[i].name);
  }
  *made = (blis_filter){.ops = ops,
                        .state = self,
                        .alloc = *alloc,
                        .needs = needs,
                        .name = entry->name};
  return BLIS_OK;
}

#define NUMBER(given_name, least, usual, given_unit, text)                     \
  {                                                                            \
    .name = (given_name), .kind = BLIS_PARAM_NUMBER, .minimum = (least),       \
    .maximum = 1e15, .fallback = (usual), .unit = (given_unit),                \
    .summary = (text)                                                          \
  }

#define HEADROOM                                                               \
  NUMBER("headroom", 0, 0, "", "both limits are this much higher (0.1: 10 %)")

enum { QUEUE, USAGE, QUEUE_HEADROOM };

static const blis_param_spec utilization_params[NUMBERS] = {
    NUMBER("queue_depth_threshold", 0, 5, "requests",
           "waiting requests of a saturated instance"),
    NUMBER("kv_cache_util_threshold", 0, 0.8, "0 to 1",
           "use of the KV cache of a saturated instance"),
    HEADROOM,
};

static blis_status filter_utilization(void *state,
                                      const blis_routing_request *request,
                                      const blis_routing_view *view, bool *keep,
                                      blis_error *error) {
  (void)request, (void)error;
  const double *n = ((const detector *)state)->numbers;
  double factor = 1 + n[QUEUE_HEADROOM];
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *usage = view->columns[BLIS_SIGNAL_KV_UTILIZATION];
  size_t kept = 0;
  for (size_t i = 0; i < view->count; i++) {
    keep[i] = waiting[i] < n[QUEUE] * factor && usage[i] < n[USAGE] * factor;
    kept += keep[i];
  }
  if (kept == 0) {
    memset(keep, true, view->count);
  }
  return BLIS_OK;
}

static const blis_filter_ops utilization_ops = {.filter = filter_utilization,
                                                .free = free_state};

static blis_status create_utilization(const blis_alloc *alloc,
                                      const blis_params *params,
                                      const blis_policy_context *context,
                                      blis_filter *made, blis_error *error) {
  (void)context;
  return make(alloc, &blis__filter_utilization_detector, &utilization_ops,
              BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                  BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
              params, made, error);
}

const blis_filter_entry blis__filter_utilization_detector = {
    .name = "llm-d.utilization-detector",
    .aliases = "",
    .summary = "keeps candidates with a short queue and room in the KV cache; "
               "all when there is none",
    .source = "llm-d router ebab6879",
    .params = utilization_params,
    .param_count = NUMBERS,
    .create = create_utilization,
};

enum { REQUESTS, TOKENS, LOAD_HEADROOM };

static const blis_param_spec concurrency_params[NUMBERS] = {
    NUMBER("max_concurrency", 0, 100, "requests",
           "in flight at a saturated instance"),
    NUMBER("max_token_concurrency", 0, 1e15, "tokens",
           "uncached tokens in flight at a saturated instance (mode tokens: "
           "1,000,000)"),
    HEADROOM,
};

static blis_status filter_concurrency(void *state,
                                      const blis_routing_request *request,
                                      const blis_routing_view *view, bool *keep,
                                      blis_error *error) {
  (void)request, (void)error;
  const double *n = ((const detector *)state)->numbers;
  double factor = 1 + n[LOAD_HEADROOM];
  const double *requests = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  const double *tokens = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  for (size_t i = 0; i < view->count; i++) {
    keep[i] =
        requests[i] < n[REQUESTS] * factor && tokens[i] < n[TOKENS] * factor;
  }
  return BLIS_OK;
}

static const blis_filter_ops concurrency_ops = {.filter = filter_concurrency,
                                                .free = free_state};

static blis_status create_concurrency(const blis_alloc *alloc,
                                      const blis_params *params,
                                      const blis_policy_context *context,
                                      blis_filter *made, blis_error *error) {
  (void)context;
  return make(alloc, &blis__filter_concurrency_detector, &concurrency_ops,
              BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) |
                  BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS),
              params, made, error);
}

const blis_filter_entry blis__filter_concurrency_detector = {
    .name = "llm-d.concurrency-detector",
    .aliases = "",
    .summary = "keeps candidates with few requests (and tokens) in flight; "
               "none, and the request is rejected",
    .source = "llm-d router ebab6879",
    .params = concurrency_params,
    .param_count = NUMBERS,
    .create = create_concurrency,
};
