/*
 * cache_scorers.c - scorers that ask the instances' own caches:
 * precise-prefix-cache, oracle-prefix.
 */
#include "policy/contract/policy.h"
#include "policy/scorers/column_scorer.h"

static blis_status score_precise(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view, double *scores,
                                 blis_error *error) {
  (void)state, (void)request, (void)error;
  blis__score_most(view->columns[BLIS_SIGNAL_CACHED_TOKENS], view->count,
                   scores);
  return BLIS_OK;
}

static int64_t cached_tokens(const void *state, const blis_routing_view *view,
                             size_t candidate) {
  (void)state;
  return (int64_t)view->columns[BLIS_SIGNAL_CACHED_TOKENS][candidate];
}

static const blis_scorer_ops precise_ops = {.score = score_precise,
                                            .believed_tokens = cached_tokens};

static blis_status create_precise(const blis_alloc *alloc,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "precise-prefix-cache", &precise_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_precise_prefix_cache = {
    .name = "precise-prefix-cache",
    .aliases = "",
    .summary = "(cached - min) / (max - min), cached prefix tokens in the "
               "instances' own caches; 1 when equal",
    .source = "llm-d precise-prefix-cache-scorer; BLIS (Go) v0.7.5",
    .create = create_precise,
};

static blis_status score_oracle(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view, double *scores,
                                blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *hit = view->columns[BLIS_SIGNAL_LIVE_PREFIX_HIT];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = hit[i];
  }
  return BLIS_OK;
}

static const blis_scorer_ops oracle_ops = {.score = score_oracle};

static blis_status create_oracle(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "oracle-prefix", &oracle_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_LIVE_PREFIX_HIT));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_oracle_prefix = {
    .name = "oracle-prefix",
    .aliases = "",
    .summary = "prefix-affinity with the instances' own caches in place of the "
               "router's index: what perfect knowledge is worth",
    .source = "Composable Scorer Framework for Weighted Routing",
    .create = create_oracle,
};
