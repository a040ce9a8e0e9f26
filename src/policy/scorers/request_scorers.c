/*
 * request_scorers.c - scorers that count requests as llm-d and vLLM do:
 * active-requests, running-requests, load-aware, vllm-dp.
 */
#include "policy/contract/entry.h"
#include "policy/scorers/column_scorer.h"

static blis_score_form active_form(const void *state) {
  (void)state;
  return (blis_score_form){.rule = BLIS_SCORE_IDLE, .signal = BLIS_SIGNAL_IN_FLIGHT, .factor = 1};
}

BLIS__SCORE_BY_FORM(score_active, active_form)

const blis_policy_entry blis__scorer_active_requests = {
    .kind = BLIS_POLICY_SCORER,
    .name = "active-requests",
    .summary = "(max - in flight) / max; 1 when idle, 0 for all when equally "
               "busy",
    .source = "llm-d active-request-scorer; BLIS (Go) v0.7.3",
    .ops = &(const blis_scorer_ops){.score = score_active, .form = active_form},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
};

static blis_score_form running_form(const void *state) {
  (void)state;
  return (blis_score_form){.rule = BLIS_SCORE_LEAST, .signal = BLIS_SIGNAL_BATCH_SIZE};
}

BLIS__SCORE_BY_FORM(score_running, running_form)

const blis_policy_entry blis__scorer_running_requests = {
    .kind = BLIS_POLICY_SCORER,
    .name = "running-requests",
    .aliases = "llm-d.running-requests-size-scorer",
    .summary = "(max - running) / (max - min); 1 when equal",
    .source = "llm-d running-requests-size-scorer; BLIS (Go) v0.7.3",
    .ops = &(const blis_scorer_ops){.score = score_running, .form = running_form},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE),
};

/* The weight of a waiting request relative to a running one. */
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
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE),
};

typedef struct load_aware {
  double threshold;
} load_aware;

static blis_score_form load_aware_form(const void *state) {
  const load_aware *self = state;
  return (blis_score_form){.rule = BLIS_SCORE_BELOW,
                           .signal = BLIS_SIGNAL_QUEUE_DEPTH,
                           .threshold = self->threshold,
                           .factor = 0.5};
}

BLIS__SCORE_BY_FORM(score_load_aware, load_aware_form)

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
    .ops = &(const blis_scorer_ops){.score = score_load_aware, .form = load_aware_form},
    .state_size = sizeof(load_aware),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH),
};
