#include "lua/policies/router.h"

#include "lua/bind/bind.h"
#include "lua/policies/decision.h"
#include "lua/policies/scorer.h"

typedef struct scripted_router {
  bind_decider decider;
} scripted_router;

typedef struct router_call {
  scripted_router *router;
  size_t chosen; /* out */
} router_call;

static int route(lua_State *L, void *ud) {
  router_call *call = ud;
  bind_view *view = call->router->decider.view;
  push_view_candidates(L, view, AT_ANCHOR);
  lua_call(L, 2, 1);
  call->chosen = check_candidate_index(L, -1, view);
  return 0;
}

static blis_status router_route(const blis_question *q,
                                blis_decision *decision) {
  const blis_routing_view *view = q->view;
  router_call call = {.router = q->state};
  BLIS_TRY(bind_decide(&call.router->decider, q->request, view, route, &call,
                       q->error));
  *decision = (blis_decision){.chosen = call.chosen};
  return bind_observe_decision(call.router->decider.view, q->request, view,
                               call.chosen, q->error);
}

static void router_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(scripted_router));
}

static const blis_router_ops router_ops = {.route = router_route,
                                           .free = router_free};

void check_scripted_router(lua_State *L, int index, bind_view *view,
                           blis_router *router) {
  const scripted_router made = {
      .decider = check_decider(L, index, view, "routing policy", "route")};
  scripted_router *state = check_copy(L, &made, sizeof made);
  *router = (blis_router){
      .ops = &router_ops,
      .state = state,
      .alloc = bind_alloc(L),
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* the others are had when read */
      .name = state->decider.name,
  };
}
