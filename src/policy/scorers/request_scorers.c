/*
 * request_scorers.c - scorers that count requests as llm-d and vLLM do:
 * active-requests, running-requests, load-aware, vllm-dp.
 */
#include "policy/contract/entry.h"
#include "policy/scorers/column_scorer.h"

static blis_status score_active(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  blis__score_idle(view->columns[BLIS_SIGNAL_IN_FLIGHT], view->count, 0, 1,
                   scores);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_active_requests = {
    .kind = BLIS_POLICY_SCORER,
    .name = "active-requests",
    .summary = "(max - in flight) / max; 1 when idle, 0 for all when equally "
               "busy",
    .source = "llm-d active-request-scorer; BLIS (Go) v0.7.3",
    .ops = &(const blis_scorer_ops){.score = score_active},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
};

static blis_status score_running(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  blis__score_least(view->columns[BLIS_SIGNAL_BATCH_SIZE], view->count, scores);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_running_requests = {
    .kind = BLIS_POLICY_SCORER,
    .name = "running-requests",
    .aliases = "llm-d.running-requests-size-scorer",
    .summary = "(max - running) / (max - min); 1 when equal",
    .source = "llm-d running-requests-size-scorer; BLIS (Go) v0.7.3",
    .ops = &(const blis_scorer_ops){.score = score_running},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE),
};

/* The weight of a waiting request against a running one. */
enum { WAITING_WEIGHT = 4 };

static blis_status score_vllm_dp(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *running = view->columns[BLIS_SIGNAL_BATCH_SIZE];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = WAITING_WEIGHT * waiting[i] + running[i];
  }
  blis__score_least(scores, view->count, scores);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_vllm_dp = {
    .kind = BLIS_POLICY_SCORER,
    .name = "vllm-dp",
    .summary = "(max - raw) / (max - min), raw = 4 x waiting + running; 1 when "
               "equal",
    .source = "vLLM's choice between data-parallel ranks; BLIS (Go) v0.7.8",
    .ops = &(const blis_scorer_ops){.score = score_vllm_dp},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE),
};

typedef struct load_aware {
  double threshold;
} load_aware;

static blis_status score_load_aware(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  double threshold = ((const load_aware *)q->state)->threshold;
  const double *waiting = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  for (size_t i = 0; i < view->count; i++) {
    double capped = waiting[i] < threshold ? waiting[i] : threshold;
    scores[i] = 0.5 * (1 - capped / threshold);
  }
  return BLIS_OK;
}

static const blis_param_spec load_aware_params[] = {
    BLIS__NUMBER("threshold", 1, 1e9, 128, "requests",
                 "waiting requests at which the score reaches 0",
                 BLIS__INTO(load_aware, threshold)),
};

const blis_policy_entry blis__scorer_load_aware = {
    .kind = BLIS_POLICY_SCORER,
    .name = "load-aware",
    .aliases = "llm-d.load-aware-scorer",
    .summary = "0.5 x (1 - min(waiting, threshold) / threshold): 0 to 0.5",
    .source = "llm-d load-aware-scorer; BLIS (Go) v0.7.3",
    BLIS__PARAMS(load_aware_params),
    .ops = &(const blis_scorer_ops){.score = score_load_aware},
    .state_size = sizeof(load_aware),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH),
};
