/*
 * load_scorers.c - the load scorers of the scorer framework (queue-depth, kv-utilization, and
 * load-balance), and llm-d.queue-scorer, another name for one of them.
 */
#include "policy/contract/entry.h"
#include "policy/scorers/column_scorer.h"

#define DESIGN_SOURCE "Composable Scorer Framework for Weighted Routing"

static blis_score_form load_form(const void *state) {
  (void)state;
  return (blis_score_form){.rule = BLIS_SCORE_LEAST, .signal = BLIS_SIGNAL_EFFECTIVE_LOAD};
}

static blis_score_form queue_form(const void *state) {
  (void)state;
  return (blis_score_form){.rule = BLIS_SCORE_LEAST, .signal = BLIS_SIGNAL_QUEUE_DEPTH};
}

BLIS__SCORE_BY_FORM(score_load, load_form)
BLIS__SCORE_BY_FORM(score_queue, queue_form)

static const blis_scorer_ops queue_ops = {.score = score_queue, .form = queue_form};

const blis_policy_entry blis__scorer_llmd_queue = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.queue-scorer",
    .summary = "(max - waiting) / (max - min); 1 when equal",
    .source = "llm-d router ebab6879",
    .ops = &queue_ops,
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH),
};

static const blis_param_spec queue_depth_params[] = {
    BLIS__CHOICE_IN("load", "effective|queue", "requests",
                    "effective load, or waiting requests alone (default of "
                    "profile go-blis)"),
};

static blis_status init_queue_depth(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)state, (void)error;
  if (blis_setup_choice(setup, "load") == 1) {
    setup->ops = &queue_ops;
    setup->needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH);
  }
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_queue_depth = {
    .kind = BLIS_POLICY_SCORER,
    .name = "queue-depth",
    .summary = "(max - load) / (max - min) over the candidates; 1 when equal",
    .source = DESIGN_SOURCE "; BLIS (Go) v0.7.3 for load = queue",
    BLIS__PARAMS(queue_depth_params),
    .ops = &(const blis_scorer_ops){.score = score_load, .form = load_form},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
    .init = init_queue_depth,
};

static blis_score_form kv_form(const void *state) {
  (void)state;
  return (blis_score_form){.rule = BLIS_SCORE_REST, .signal = BLIS_SIGNAL_KV_UTILIZATION};
}

BLIS__SCORE_BY_FORM(score_kv, kv_form)

const blis_policy_entry blis__scorer_kv_utilization = {
    .kind = BLIS_POLICY_SCORER,
    .name = "kv-utilization",
    .aliases = "llm-d.kv-cache-utilization-scorer",
    .summary = "1 - share of the KV blocks in use",
    .source = DESIGN_SOURCE,
    .ops = &(const blis_scorer_ops){.score = score_kv, .form = kv_form},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
};

static blis_score_form balance_form(const void *state) {
  (void)state;
  return (blis_score_form){.rule = BLIS_SCORE_RECIPROCAL, .signal = BLIS_SIGNAL_EFFECTIVE_LOAD};
}

BLIS__SCORE_BY_FORM(score_balance, balance_form)

const blis_policy_entry blis__scorer_load_balance = {
    .kind = BLIS_POLICY_SCORER,
    .name = "load-balance",
    .summary = "1 / (1 + effective load): keeps absolute differences",
    .source = DESIGN_SOURCE,
    .ops = &(const blis_scorer_ops){.score = score_balance, .form = balance_form},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
};
