/*
 * load_scorers.c - the load scorers of the scorer framework: queue-depth,
 * kv-utilization, load-balance.
 */
#include "policy/contract/policy.h"
#include "policy/scorers/column_scorer.h"

#define DESIGN_SOURCE "Composable Scorer Framework for Weighted Routing"

static blis_status score_effective_load(void *state,
                                        const blis_routing_request *request,
                                        const blis_routing_view *view,
                                        double *scores, blis_error *error) {
  (void)state, (void)request, (void)error;
  blis__score_least(view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD], view->count,
                    scores);
  return BLIS_OK;
}

static blis_status score_queue(void *state, const blis_routing_request *request,
                               const blis_routing_view *view, double *scores,
                               blis_error *error) {
  (void)state, (void)request, (void)error;
  blis__score_least(view->columns[BLIS_SIGNAL_QUEUE_DEPTH], view->count,
                    scores);
  return BLIS_OK;
}

static const blis_scorer_ops effective_load_ops = {.score =
                                                       score_effective_load};
static const blis_scorer_ops queue_ops = {.score = score_queue};

static const blis_param_spec queue_depth_params[] = {
    {.name = "load",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "effective|queue",
     .unit = "requests",
     .summary = "effective load, or waiting requests alone (default of "
                "profile go-blis)"},
};

static blis_status create_queue_depth(const blis_alloc *alloc,
                                      const blis_params *params,
                                      const blis_policy_context *context,
                                      blis_scorer *scorer, blis_error *error) {
  (void)error;
  bool is_given = blis_params_find(params, "load") != NULL;
  bool is_queue =
      is_given ? blis_params_choice(params, queue_depth_params, 1, "load") == 1
               : context->go_blis;
  *scorer = blis__column_scorer(
      alloc, "queue-depth", is_queue ? &queue_ops : &effective_load_ops,
      BLIS_SIGNAL_BIT(is_queue ? BLIS_SIGNAL_QUEUE_DEPTH
                               : BLIS_SIGNAL_EFFECTIVE_LOAD));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_queue_depth = {
    .name = "queue-depth",
    .aliases = "",
    .summary = "(max - load) / (max - min) over the candidates; 1 when equal",
    .source = DESIGN_SOURCE "; BLIS (Go) v0.7.3 for load = queue",
    .params = queue_depth_params,
    .param_count = 1,
    .create = create_queue_depth,
};

static blis_status score_kv_utilization(void *state,
                                        const blis_routing_request *request,
                                        const blis_routing_view *view,
                                        double *scores, blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *utilization = view->columns[BLIS_SIGNAL_KV_UTILIZATION];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = 1 - utilization[i];
  }
  return BLIS_OK;
}

static const blis_scorer_ops kv_utilization_ops = {.score =
                                                       score_kv_utilization};

static blis_status create_kv_utilization(const blis_alloc *alloc,
                                         const blis_params *params,
                                         const blis_policy_context *context,
                                         blis_scorer *scorer,
                                         blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "kv-utilization", &kv_utilization_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_kv_utilization = {
    .name = "kv-utilization",
    .aliases = "llm-d.kv-cache-utilization-scorer",
    .summary = "1 - share of the KV blocks in use",
    .source = DESIGN_SOURCE,
    .create = create_kv_utilization,
};

static blis_status score_load_balance(void *state,
                                      const blis_routing_request *request,
                                      const blis_routing_view *view,
                                      double *scores, blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = 1 / (1 + load[i]);
  }
  return BLIS_OK;
}

static const blis_scorer_ops load_balance_ops = {.score = score_load_balance};

static blis_status create_load_balance(const blis_alloc *alloc,
                                       const blis_params *params,
                                       const blis_policy_context *context,
                                       blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "load-balance", &load_balance_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_load_balance = {
    .name = "load-balance",
    .aliases = "",
    .summary = "1 / (1 + effective load): keeps absolute differences",
    .source = DESIGN_SOURCE,
    .create = create_load_balance,
};
