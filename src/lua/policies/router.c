#include "lua/policies/router.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/scorer.h"

enum { NAME_SIZE = 64 };

typedef struct lua_router {
  bind_decider decider;
  int route; /* place of the function in the anchor */
  char name[NAME_SIZE];
} lua_router;

typedef struct router_call {
  lua_router *router;
  size_t chosen; /* out */
} router_call;

static int route(lua_State *L) {
  enum { CALL = 1, ANCHOR };
  router_call *call = lua_touserdata(L, CALL);
  bind_view *view = call->router->decider.view;
  bind_hooks_anchor(L, view->hooks);
  lua_rawgeti(L, ANCHOR, call->router->route);
  push_view_request(L, view, ANCHOR);
  push_view_candidates(L, view, ANCHOR);
  lua_call(L, 2, 1);
  call->chosen = check_candidate_index(L, -1, view);
  return 0;
}

static blis_status router_route(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view,
                                blis_decision *decision, blis_error *error) {
  router_call call = {.router = state};
  BLIS_TRY(
      bind_decide(&call.router->decider, request, view, route, &call, error));
  *decision = (blis_decision){.chosen = call.chosen};
  return bind_observe_decision(call.router->decider.view, request, view,
                               call.chosen, error);
}

static void router_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(lua_router));
}

static const blis_router_ops router_ops = {.route = router_route,
                                           .free = router_free};

void check_scripted_router(lua_State *L, int index, bind_view *view,
                           blis_router *router) {
  lua_router made = {.decider = {.view = view, .kind = "routing policy"}};
  strncpy(made.name, check_field_string(L, index, "name"), NAME_SIZE - 1);
  made.route = push_hook_field(L, index, "route", view->hooks);
  blis_alloc alloc = bind_alloc(L);
  lua_router *state = blis_alloc_new(&alloc, sizeof *state);
  if (state == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
    return;
  }
  *state = made;
  state->decider.name = state->name;
  *router = (blis_router){
      .ops = &router_ops,
      .state = state,
      .alloc = alloc,
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* the others are had when read */
      .name = state->name,
  };
}
