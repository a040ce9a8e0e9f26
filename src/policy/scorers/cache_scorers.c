/*
 * cache_scorers.c - scorers that read the instances' own caches: precise-prefix-cache,
 * oracle-prefix, tiered-prefix.
 */
#include "policy/contract/entry.h"
#include "policy/scorers/column_scorer.h"

static blis_status score_precise(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  blis__score_most(view->columns[BLIS_SIGNAL_CACHED_TOKENS], view->count, scores);
  return BLIS_OK;
}

static int64_t cached_tokens(const void *state, const blis_routing_view *view, size_t candidate) {
  (void)state;
  return (int64_t)view->columns[BLIS_SIGNAL_CACHED_TOKENS][candidate];
}

static const blis_scorer_ops precise_ops = {.score = score_precise,
                                            .believed_tokens = cached_tokens};

const blis_policy_entry blis__scorer_precise_prefix_cache = {
    .kind = BLIS_POLICY_SCORER,
    .name = "precise-prefix-cache",
    .summary = "(cached - min) / (max - min), cached prefix tokens in the "
               "instances' own caches; 1 when equal",
    .source = "llm-d precise-prefix-cache-scorer; BLIS (Go) v0.7.5",
    .ops = &precise_ops,
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
};

static blis_status score_oracle(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  const double *hit = view->columns[BLIS_SIGNAL_LIVE_PREFIX_HIT];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = hit[i];
  }
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_oracle_prefix = {
    .kind = BLIS_POLICY_SCORER,
    .name = "oracle-prefix",
    .summary = "prefix-affinity with the instances' own caches instead of the "
               "router's index: the value of perfect knowledge",
    .source = "Composable Scorer Framework for Weighted Routing",
    .ops = &(const blis_scorer_ops){.score = score_oracle},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_LIVE_PREFIX_HIT),
};

static blis_status score_tiered(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  const double *hit = view->columns[BLIS_SIGNAL_TIERED_PREFIX_HIT];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = hit[i];
  }
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_tiered_prefix = {
    .kind = BLIS_POLICY_SCORER,
    .name = "tiered-prefix",
    .summary = "share of the prompt in the instances' caches and, with the "
               "weights of the tiers, in KV tiers below them",
    .source = "tier weights of Dynamo's router and of llm-d's "
              "precise-prefix-cache-scorer",
    .ops = &(const blis_scorer_ops){.score = score_tiered},
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_TIERED_PREFIX_HIT),
};
