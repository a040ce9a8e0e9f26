#include "lua/policies/router.h"

#include "lua/bind/bind.h"
#include "lua/policies/decision.h"
#include "lua/policies/scorer.h"
#include "lua/policies/stage_context.h"
#include "policy/contract/facts.h"

typedef struct scripted_router {
  bind_decider decider;
} scripted_router;

typedef struct router_call {
  scripted_router *router;
  size_t chosen; /* out */
  bool has_prefill;
  int64_t prefill;
} router_call;

/* { prefill =, decode = }: instances, or their indices. */
static void check_pair(lua_State *L, int index, router_call *call) {
  const bind_view *view = call->router->decider.view;
  if (view->request->stage != BLIS_ROLE_DECODE) {
    luaL_error(L, "it returned both instances, which the routing policy of the "
                  "decode stage can do where the cluster has pools");
  }
  int64_t decode = check_instance_field(L, index, "decode");
  int64_t prefill = check_instance_field(L, index, "prefill");
  if (decode < 0 || prefill < 0) {
    luaL_error(L,
               "it returned a table without %s, expected the index of a "
               "candidate or { prefill = instance, decode = instance }",
               decode < 0 ? "decode" : "prefill");
  }
  call->chosen = decode <= UINT32_MAX
                     ? blis_routing_view_find(view->view, (uint32_t)decode)
                     : view->view->count;
  if (call->chosen == view->view->count) {
    luaL_error(L, "instance_%I is not one of those that decode",
               (LUAI_UACINT)decode);
  }
  call->has_prefill = true;
  call->prefill = prefill;
}

static int route(lua_State *L, void *ud) {
  router_call *call = ud;
  bind_view *view = call->router->decider.view;
  push_view_candidates(L, view, AT_ANCHOR);
  lua_rawgeti(L, AT_ANCHOR, ANCHOR_CONTEXT);
  lua_call(L, 3, 1);
  if (lua_type(L, -1) == LUA_TTABLE) {
    check_pair(L, lua_gettop(L), call);
  } else {
    call->chosen = check_candidate_index(L, -1, view);
  }
  return 0;
}

static blis_status router_route(const blis_question *q,
                                blis_decision *decision) {
  const blis_routing_view *view = q->view;
  router_call call = {.router = q->state};
  BLIS_TRY(bind_decide(&call.router->decider, q->request, view, route, &call,
                       q->error));
  *decision = (blis_decision){.chosen = call.chosen,
                              .has_prefill = call.has_prefill,
                              .prefill = call.prefill};
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
