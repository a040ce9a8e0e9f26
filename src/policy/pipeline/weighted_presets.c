/*
 * weighted_presets.c - the weighted router with the scorer lists of real systems.
 */
#include "policy/pipeline/scorer_list.h"
#include "policy/pipeline/weighted.h"

extern const blis_policy_entry blis__router_weighted;

/* Returns the list of scorers: the rule of the entry, or for "weighted" the list of the profile. */
static const char *scorers_of(const blis_policy_setup *setup) {
  const blis_policy_profile *profile = setup->context->profile;
  bool has_own = profile != NULL && profile->weighted_scorers != NULL;
  return has_own && setup->entry == &blis__router_weighted ? profile->weighted_scorers
                                                           : setup->entry->rule;
}

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)state;
  blis_scorer_list list;
  blis_router router;
  BLIS_TRY(blis_scorer_list_parse(&list, scorers_of(setup), "weighted", error));
  BLIS_TRY(
      blis_scorer_list_router(setup->alloc, &list, setup->params, setup->context, &router, error));
  setup->ops = router.ops;
  setup->state = router.state;
  setup->needs = router.needs;
  setup->needs_extremes = router.needs_extremes;
  return BLIS_OK;
}

const blis_policy_entry blis__router_weighted = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "weighted",
    .summary = "highest weighted sum of scores; without scorers "
               "prefix-affinity:3, queue-depth:2, kv-utilization:2 (profile "
               "go-blis: precise-prefix-cache:2, queue-depth:1, "
               "kv-utilization:1)",
    .source = "Composable Scorer Framework for Weighted Routing; llm-d; "
              "BLIS (Go) f90a1e3a",
    BLIS__PARAMS(blis__weighted_params),
    .rule = "prefix-affinity:3,queue-depth:2,kv-utilization:2",
    .init = init,
};

const blis_policy_entry blis__router_weighted_stateless = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "weighted-stateless",
    .summary = "weighted with queue-depth:2, kv-utilization:2, load-balance:1",
    .source = "Composable Scorer Framework for Weighted Routing, first stage",
    BLIS__PARAMS(blis__weighted_params),
    .rule = "queue-depth:2,kv-utilization:2,load-balance:1",
    .init = init,
};
