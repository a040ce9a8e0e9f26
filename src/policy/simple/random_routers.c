/*
 * random_routers.c - routing policies that need little or no knowledge:
 * random, power-of-two.
 */
#include "policy/contract/policy.h"
#include "policy/pickers/pick_rules.h"

static void free_random(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(blis_random));
}

/* Makes *router of a pattern without state; its stream is policy/<name>. */
static blis_status make(const blis_alloc *alloc, const blis_router *pattern,
                        const char *name, const blis_policy_context *context,
                        blis_router *router, blis_error *error) {
  blis_random *random = blis_alloc_new(alloc, sizeof *random);
  BLIS_TRY_NEW(random, error);
  blis_policy_random_init(random, context->seed, name);
  *router = *pattern;
  router->state = random;
  router->alloc = *alloc;
  return BLIS_OK;
}

static blis_status route_to_any(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view,
                                blis_decision *decision, blis_error *error) {
  (void)request, (void)error;
  *decision = (blis_decision){.chosen = blis_pick_random(state, view->count)};
  return BLIS_OK;
}

static const blis_router_ops random_ops = {.route = route_to_any,
                                           .free = free_random};

static blis_status create_random(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_router *router, blis_error *error) {
  (void)params;
  const blis_router pattern = {
      .ops = &random_ops, .is_blind = true, .name = "random"};
  return make(alloc, &pattern, "random", context, router, error);
}

const blis_router_entry blis__router_random = {
    .name = "random",
    .aliases = "smg.random|aibrix.random|dynamo.random",
    .summary = "any instance, each as likely",
    .source = "llm-d random-picker",
    .create = create_random,
};

static blis_status route_to_better(void *state,
                                   const blis_routing_request *request,
                                   const blis_routing_view *view,
                                   blis_decision *decision, blis_error *error) {
  (void)request, (void)error;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  size_t first = 0;
  size_t second = 0;
  if (view->count > 1) {
    blis_pick_two(state, view->count, &first, &second);
  }
  *decision =
      (blis_decision){.chosen = load[second] < load[first] ? second : first};
  return BLIS_OK;
}

static const blis_router_ops power_of_two_ops = {.route = route_to_better,
                                                 .free = free_random};

static blis_status create_power_of_two(const blis_alloc *alloc,
                                       const blis_params *params,
                                       const blis_policy_context *context,
                                       blis_router *router, blis_error *error) {
  (void)params;
  const blis_router pattern = {.ops = &power_of_two_ops,
                               .needs =
                                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
                               .name = "power-of-two"};
  return make(alloc, &pattern, "power-of-two", context, router, error);
}

const blis_router_entry blis__router_power_of_two = {
    .name = "power-of-two",
    .aliases = "",
    .summary = "the lower effective load of two random instances",
    .source = "Mitzenmacher, The Power of Two Choices in Randomized Load "
              "Balancing, 2001",
    .create = create_power_of_two,
};
