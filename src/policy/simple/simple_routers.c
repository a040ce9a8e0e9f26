/*
 * simple_routers.c - routing policies of one rule: round-robin, least-loaded,
 * always-busiest.
 */
#include "policy/contract/policy.h"

/* The k-th decision goes to candidate k mod n, n as of now. */
static blis_status route_in_turn(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view,
                                 blis_decision *decision, blis_error *error) {
  (void)request, (void)error;
  uint64_t *turn = state;
  *decision = (blis_decision){.chosen = (size_t)((*turn)++ % view->count)};
  return BLIS_OK;
}

static void free_turn(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(uint64_t));
}

static const blis_router_ops round_robin_ops = {.route = route_in_turn,
                                                .free = free_turn};

static blis_status create_round_robin(const blis_alloc *alloc,
                                      const blis_params *params,
                                      const blis_policy_context *context,
                                      blis_router *router, blis_error *error) {
  (void)params, (void)context;
  uint64_t *turn = blis_alloc_zeroed(alloc, 1, sizeof *turn);
  BLIS_TRY_NEW(turn, error);
  *router = (blis_router){.ops = &round_robin_ops,
                          .state = turn,
                          .alloc = *alloc,
                          .is_blind = true,
                          .name = "round-robin"};
  return BLIS_OK;
}

const blis_router_entry blis__router_round_robin = {
    .name = "round-robin",
    .aliases = "smg.round_robin|dynamo.round-robin",
    .summary = "one instance after the other",
    .source = "BLIS (Go)",
    .create = create_round_robin,
};

static blis_status route_to_least(void *state,
                                  const blis_routing_request *request,
                                  const blis_routing_view *view,
                                  blis_decision *decision, blis_error *error) {
  (void)request, (void)error;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  *decision = (blis_decision){
      .chosen = view->least_load != NULL
                    ? blis_tie_pick_least(state, view->least_load)
                    : blis_tie_pick_min(state, load, view)};
  return BLIS_OK;
}

static blis_status route_to_most(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view,
                                 blis_decision *decision, blis_error *error) {
  (void)request, (void)error;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  *decision = (blis_decision){.chosen = blis_tie_pick_max(state, load, view)};
  return BLIS_OK;
}

static void free_tie(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(blis_tie));
}

static const blis_router_ops least_loaded_ops = {.route = route_to_least,
                                                 .free = free_tie};
static const blis_router_ops always_busiest_ops = {.route = route_to_most,
                                                   .free = free_tie};

static blis_status make_by_load(const blis_alloc *alloc, const char *name,
                                const blis_router_ops *ops, blis_tie_rule rule,
                                int64_t seed, blis_router *router,
                                blis_error *error) {
  blis_tie *tie = blis_alloc_new(alloc, sizeof *tie);
  BLIS_TRY_NEW(tie, error);
  blis_tie_init(tie, rule, seed, "router");
  *router = (blis_router){.ops = ops,
                          .state = tie,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
                          .needs_least_load = ops == &least_loaded_ops,
                          .name = name};
  return BLIS_OK;
}

static const blis_param_spec least_loaded_params[] = {BLIS__TIE_PARAM};

static blis_status create_least_loaded(const blis_alloc *alloc,
                                       const blis_params *params,
                                       const blis_policy_context *context,
                                       blis_router *router, blis_error *error) {
  blis_tie_rule rule = blis__tie_param(params, least_loaded_params, 1, context);
  return make_by_load(alloc, "least-loaded", &least_loaded_ops, rule,
                      context->seed, router, error);
}

const blis_router_entry blis__router_least_loaded = {
    .name = "least-loaded",
    .aliases = "",
    .summary = "lowest effective load",
    .source = "BLIS Evolutionary Policy Optimization: Macro-Level "
              "Implementation Plan; BLIS (Go)",
    .params = least_loaded_params,
    .param_count = 1,
    .create = create_least_loaded,
};

static blis_status create_always_busiest(const blis_alloc *alloc,
                                         const blis_params *params,
                                         const blis_policy_context *context,
                                         blis_router *router,
                                         blis_error *error) {
  (void)params;
  return make_by_load(alloc, "always-busiest", &always_busiest_ops,
                      BLIS_TIE_FIRST, context->seed, router, error);
}

const blis_router_entry blis__router_always_busiest = {
    .name = "always-busiest",
    .aliases = "",
    .summary = "highest effective load: bad on purpose, to try detectors on",
    .source = "BLIS (Go)",
    .create = create_always_busiest,
};
