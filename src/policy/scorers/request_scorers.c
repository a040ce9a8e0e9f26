/*
 * request_scorers.c - scorers that count requests as llm-d and vLLM do:
 * active-requests, running-requests, load-aware, vllm-dp.
 */
#include "policy/contract/policy.h"
#include "policy/scorers/column_scorer.h"

static double highest_of(const double *values, size_t count) {
  double highest = 0;
  for (size_t i = 0; i < count; i++) {
    highest = values[i] > highest ? values[i] : highest;
  }
  return highest;
}

/* Unlike the other counts, equal and busy is 0 for all. */
static blis_status score_active(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view, double *scores,
                                blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *active = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  double highest = highest_of(active, view->count);
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = active[i] > 0 ? (highest - active[i]) / highest : 1;
  }
  return BLIS_OK;
}

static const blis_scorer_ops active_ops = {.score = score_active};

static blis_status create_active(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "active-requests", &active_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_active_requests = {
    .name = "active-requests",
    .aliases = "",
    .summary = "(max - in flight) / max; 1 when idle, 0 for all when equally "
               "busy",
    .source = "llm-d active-request-scorer; BLIS (Go) v0.7.3",
    .create = create_active,
};

static blis_status score_running(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view, double *scores,
                                 blis_error *error) {
  (void)state, (void)request, (void)error;
  blis__score_least(view->columns[BLIS_SIGNAL_BATCH_SIZE], view->count, scores);
  return BLIS_OK;
}

static const blis_scorer_ops running_ops = {.score = score_running};

static blis_status create_running(const blis_alloc *alloc,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "running-requests", &running_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_running_requests = {
    .name = "running-requests",
    .aliases = "llm-d.running-requests-size-scorer",
    .summary = "(max - running) / (max - min); 1 when equal",
    .source = "llm-d running-requests-size-scorer; BLIS (Go) v0.7.3",
    .create = create_running,
};

/* The weight of a waiting request against a running one. */
enum { WAITING_WEIGHT = 4 };

static blis_status score_vllm_dp(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view, double *scores,
                                 blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *running = view->columns[BLIS_SIGNAL_BATCH_SIZE];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = WAITING_WEIGHT * waiting[i] + running[i];
  }
  blis__score_least(scores, view->count, scores);
  return BLIS_OK;
}

static const blis_scorer_ops vllm_dp_ops = {.score = score_vllm_dp};

static blis_status create_vllm_dp(const blis_alloc *alloc,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "vllm-dp", &vllm_dp_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                                    BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_vllm_dp = {
    .name = "vllm-dp",
    .aliases = "",
    .summary = "(max - raw) / (max - min), raw = 4 x waiting + running; 1 when "
               "equal",
    .source = "vLLM's choice between data-parallel ranks; BLIS (Go) v0.7.8",
    .create = create_vllm_dp,
};

static blis_status score_load_aware(void *state,
                                    const blis_routing_request *request,
                                    const blis_routing_view *view,
                                    double *scores, blis_error *error) {
  (void)request, (void)error;
  double threshold = *(const double *)state;
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  for (size_t i = 0; i < view->count; i++) {
    double capped = waiting[i] < threshold ? waiting[i] : threshold;
    scores[i] = 0.5 * (1 - capped / threshold);
  }
  return BLIS_OK;
}

static void free_threshold(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(double));
}

static const blis_scorer_ops load_aware_ops = {.score = score_load_aware,
                                               .free = free_threshold};

static const blis_param_spec load_aware_params[] = {
    {.name = "threshold",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1,
     .maximum = 1e9,
     .fallback = 128,
     .unit = "requests",
     .summary = "waiting requests from which on the score is 0"},
};

static blis_status create_load_aware(const blis_alloc *alloc,
                                     const blis_params *params,
                                     const blis_policy_context *context,
                                     blis_scorer *scorer, blis_error *error) {
  (void)context;
  double *threshold = blis_alloc_new(alloc, sizeof *threshold);
  BLIS_TRY_NEW(threshold, error);
  *threshold = blis_params_number(params, load_aware_params, 1, "threshold");
  *scorer = blis__column_scorer(alloc, "load-aware", &load_aware_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH));
  scorer->state = threshold;
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_load_aware = {
    .name = "load-aware",
    .aliases = "llm-d.load-aware-scorer",
    .summary = "0.5 x (1 - min(waiting, threshold) / threshold): 0 to 0.5",
    .source = "llm-d load-aware-scorer; BLIS (Go) v0.7.3",
    .params = load_aware_params,
    .param_count = 1,
    .create = create_load_aware,
};
