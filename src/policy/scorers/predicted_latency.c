/*
 * predicted_latency.c - the scorer that the scorer framework defers to a later version: it prefers
 * the candidate with the earliest predicted first token.
 */
#include "policy/contract/entry.h"
#include "policy/contract/scorer.h"

typedef enum scale { SCALE_RANGE, SCALE_RATIO } scale;

typedef struct state {
  scale scale;
} state;

static double score_of(scale kind, double value, double least, double most) {
  if (kind == SCALE_RATIO) {
    return value > 0 ? least / value : 1;
  }
  return most > least ? (most - value) / (most - least) : 1;
}

static blis_status score(const blis_question *q, double *scores) {
  const state *self = q->state;
  const double *ttft_us = q->view->columns[BLIS_SIGNAL_ESTIMATED_TTFT_US];
  double least = ttft_us[0];
  double most = ttft_us[0];
  for (size_t i = 1; i < q->view->count; i++) {
    least = ttft_us[i] < least ? ttft_us[i] : least;
    most = ttft_us[i] > most ? ttft_us[i] : most;
  }
  for (size_t i = 0; i < q->view->count; i++) {
    scores[i] = score_of(self->scale, ttft_us[i], least, most);
  }
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__CHOICE("scale", "range|ratio",
                 "(max - TTFT) / (max - min) over the candidates, 1 when "
                 "equal; or min / TTFT, which keeps proportions"),
};

static blis_status init(void *made, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  ((state *)made)->scale = (scale)blis_setup_choice(setup, "scale");
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_predicted_latency = {
    .kind = BLIS_POLICY_SCORER,
    .name = "predicted-latency",
    .summary = "the shorter the predicted time to first token, the better: what "
               "is ahead and the rest of the prompt, by the latency model",
    .source = "Composable Scorer Framework for Weighted Routing (future)",
    BLIS__PARAMS(params),
    .ops = &(const blis_scorer_ops){.score = score},
    .state_size = sizeof(state),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_ESTIMATED_TTFT_US),
    .init = init,
};
