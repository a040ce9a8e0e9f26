/*
 * simple_routers.c - routing policies that consist of one rule: round-robin, least-loaded,
 * always-busiest.
 */
#include "policy/contract/entry.h"

/* The k-th decision selects candidate k mod n, where n is the current number of candidates. */
static blis_status route_in_turn(const blis_question *q, blis_decision *decision) {
  uint64_t *turn = q->state;
  *decision = (blis_decision){.chosen = (size_t)((*turn)++ % q->view->count)};
  return BLIS_OK;
}

const blis_policy_entry blis__router_round_robin = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "round-robin",
    .aliases = "smg.round_robin|dynamo.round-robin",
    .summary = "instances in turn",
    .source = "BLIS (Go)",
    .ops = &(const blis_router_ops){.route = route_in_turn},
    .state_size = sizeof(uint64_t),
    .is_blind = true,
};

static blis_status route_to_least(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  *decision = (blis_decision){.chosen = view->least_load != NULL
                                            ? blis_tie_pick_least(q->state, view->least_load)
                                            : blis_tie_pick_min(q->state, load, view)};
  return BLIS_OK;
}

static blis_status route_to_most(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  *decision = (blis_decision){.chosen = blis_tie_pick_max(q->state, load, view)};
  return BLIS_OK;
}

static const blis_param_spec least_loaded_params[] = {BLIS__TIE_PARAM};

static blis_status init_least_loaded(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  blis_setup_router_tie(setup, state);
  return BLIS_OK;
}

const blis_policy_entry blis__router_least_loaded = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "least-loaded",
    .summary = "lowest effective load",
    .source = "BLIS Evolutionary Policy Optimization: Macro-Level "
              "Implementation Plan; BLIS (Go)",
    BLIS__PARAMS(least_loaded_params),
    .ops = &(const blis_router_ops){.route = route_to_least},
    .state_size = sizeof(blis_tie),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
    .needs_least_load = true,
    .init = init_least_loaded,
};

static blis_status init_always_busiest(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  blis_tie_init(state, BLIS_TIE_FIRST, setup->context->seed,
                setup->context->ties == NULL ? "router" : setup->context->ties);
  return BLIS_OK;
}

const blis_policy_entry blis__router_always_busiest = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "always-busiest",
    .summary = "highest effective load; deliberately bad, for testing detectors",
    .source = "BLIS (Go)",
    .ops = &(const blis_router_ops){.route = route_to_most},
    .state_size = sizeof(blis_tie),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
    .init = init_always_busiest,
};
