/*
 * weighted_presets.c - the weighted router with the scorers of its sources.
 */
#include "policy/pipeline/scorer_list.h"
#include "policy/pipeline/weighted.h"

static blis_status create_of(const blis_alloc *alloc, const char *scorers,
                             const blis_params *params,
                             const blis_policy_context *context,
                             blis_router *router, blis_error *error) {
  blis_scorer_list list;
  BLIS_TRY(blis_scorer_list_parse(&list, scorers, "weighted", error));
  return blis_scorer_list_router(alloc, &list, params, context, router, error);
}

static blis_status create_weighted(const blis_alloc *alloc,
                                   const blis_params *params,
                                   const blis_policy_context *context,
                                   blis_router *router, blis_error *error) {
  const char *scorers =
      context->go_blis ? "precise-prefix-cache:2,queue-depth:1,kv-utilization:1"
                       : "prefix-affinity:3,queue-depth:2,kv-utilization:2";
  return create_of(alloc, scorers, params, context, router, error);
}

const blis_router_entry blis__router_weighted = {
    .name = "weighted",
    .aliases = "",
    .summary = "highest weighted sum of scores; without scorers "
               "prefix-affinity:3, queue-depth:2, kv-utilization:2 (profile "
               "go-blis: precise-prefix-cache:2, queue-depth:1, "
               "kv-utilization:1)",
    .source = "Composable Scorer Framework for Weighted Routing; llm-d; "
              "BLIS (Go) f90a1e3a",
    .params = blis__weighted_params,
    .param_count = BLIS__WEIGHTED_PARAM_COUNT,
    .create = create_weighted,
};

static blis_status create_stateless(const blis_alloc *alloc,
                                    const blis_params *params,
                                    const blis_policy_context *context,
                                    blis_router *router, blis_error *error) {
  BLIS_TRY(create_of(alloc, "queue-depth:2,kv-utilization:2,load-balance:1",
                     params, context, router, error));
  router->name = blis__router_weighted_stateless.name;
  return BLIS_OK;
}

const blis_router_entry blis__router_weighted_stateless = {
    .name = "weighted-stateless",
    .aliases = "",
    .summary = "weighted with queue-depth:2, kv-utilization:2, load-balance:1",
    .source = "Composable Scorer Framework for Weighted Routing, first stage",
    .params = blis__weighted_params,
    .param_count = BLIS__WEIGHTED_PARAM_COUNT,
    .create = create_stateless,
};
