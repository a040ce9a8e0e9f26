/*
 * random_routers.c - routing policies that need few or no signals: random, power-of-two.
 */
#include "policy/contract/entry.h"
#include "policy/pickers/pick_rules.h"

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  blis_setup_random(setup, state);
  return BLIS_OK;
}

static blis_status route_to_any(const blis_question *q, blis_decision *decision) {
  *decision = (blis_decision){.chosen = blis_pick_random(q->state, q->view->count)};
  return BLIS_OK;
}

const blis_policy_entry blis__router_random = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "random",
    .aliases = "smg.random|aibrix.random|dynamo.random",
    .summary = "any instance with equal probability",
    .source = "llm-d random-picker",
    .ops = &(const blis_router_ops){.route = route_to_any},
    .state_size = sizeof(blis_random),
    .is_blind = true,
    .init = init,
};

static blis_status route_to_better(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  size_t first = 0;
  size_t second = 0;
  if (view->count > 1) {
    blis_pick_two(q->state, view->count, &first, &second);
  }
  *decision = (blis_decision){.chosen = load[second] < load[first] ? second : first};
  return BLIS_OK;
}

const blis_policy_entry blis__router_power_of_two = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "power-of-two",
    .summary = "the one of two random instances with the lower effective load",
    .source = "Mitzenmacher, The Power of Two Choices in Randomized Load "
              "Balancing, 2001",
    .ops = &(const blis_router_ops){.route = route_to_better},
    .state_size = sizeof(blis_random),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
    .init = init,
};
