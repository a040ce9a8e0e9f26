/*
 * lora_affinity.c - scorers that prefer instances with the LoRA adapter of a request:
 * lora-affinity, and the scorer of llm-d.
 */
#include "policy/contract/entry.h"
#include "policy/scorers/column_scorer.h"

static blis_status score_affinity(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  blis__score_most(view->columns[BLIS_SIGNAL_ADAPTER_LOADED], view->count, scores);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_lora_affinity = {
    .kind = BLIS_POLICY_SCORER,
    .name = "lora-affinity",
    .summary = "1 where the adapter of the request is loaded, else 0; 1 for "
               "all when it is everywhere, nowhere, or not needed",
    .source = "Composable Scorer Framework for Weighted Routing, LoRA-affinity; "
              "BLIS (Go), LoRA control plane",
    .ops = &(const blis_scorer_ops){.score = score_affinity},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_LOADED),
};

typedef struct llmd_scorer {
  bool is_before; /* servers reported the same names twice */
} llmd_scorer;

/*
 * Scores in decreasing order: the adapter is running on the instance, the instance has a free slot
 * for another adapter, the adapter is waiting there. Before pull request 2625, running adapters
 * were also reported as waiting, and waiting adapters were not.
 */
static double llmd_score(const llmd_scorer *self, const blis_routing_view *view, size_t i) {
  double running = view->columns[BLIS_SIGNAL_ADAPTERS_RUNNING][i];
  double waiting = self->is_before ? running : view->columns[BLIS_SIGNAL_ADAPTERS_WAITING][i];
  if (view->columns[BLIS_SIGNAL_ADAPTER_RUNNING][i] > 0) {
    return 1;
  }
  if (running + waiting < view->columns[BLIS_SIGNAL_ADAPTER_SLOTS][i]) {
    return 0.8;
  }
  bool waits = !self->is_before && view->columns[BLIS_SIGNAL_ADAPTER_WAITING][i] > 0;
  return waits ? 0.6 : 0;
}

static blis_status score_llmd(const blis_question *q, double *scores) {
  for (size_t i = 0; i < q->view->count; i++) {
    scores[i] = llmd_score(q->state, q->view, i);
  }
  return BLIS_OK;
}

enum { CURRENT, BEFORE_2625 }; /* versions */

static const blis_param_spec llmd_params[] = {
    BLIS__CHOICE("version", "current|before-2625",
                 "before-2625: with the defect of the servers' metrics, by "
                 "which 0.6 is never given and adapters count twice"),
};

static blis_status init_llmd(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  llmd_scorer *self = state;
  self->is_before = blis_setup_choice(setup, "version") == BEFORE_2625;
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_llmd_lora_affinity = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.lora-affinity-scorer",
    .summary = "1 where requests with the adapter run, 0.8 where adapters that "
               "run and wait leave a slot, 0.6 where it waits, else 0",
    .source = "llm-d router lora-affinity-scorer, after pull request 2625 (9 "
              "September 2026)",
    BLIS__PARAMS(llmd_params),
    .ops = &(const blis_scorer_ops){.score = score_llmd},
    .state_size = sizeof(llmd_scorer),
    .init = init_llmd,
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_RUNNING) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_WAITING) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTERS_RUNNING) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTERS_WAITING) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_SLOTS),
};
