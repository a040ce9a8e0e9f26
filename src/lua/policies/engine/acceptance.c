#include "lua/policies/engine/acceptance.h"

#include "lua/bind/bind.h"

typedef struct question {
  int64_t tokens;
  double *rates; /* out */
} question;

static int ask(lua_State *L, void *call) {
  const question *asked = call;
  for (int64_t i = 0; i < asked->tokens; i++) {
    lua_pushvalue(L, AT_FUNCTION);
    lua_pushvalue(L, AT_REQUEST);
    lua_pushinteger(L, i + 1);
    lua_call(L, 2, 1);
    double rate = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !(rate >= 0 && rate <= 1)) {
      return luaL_error(L,
                        "it returned %s for position %I, expected the acceptance "
                        "probability of this draft token, 0 to 1",
                        push_what(L, -1), (LUAI_UACINT)i + 1);
    }
    asked->rates[i] = rate;
    lua_pop(L, 1);
  }
  return 0;
}

static blis_status rates_of(void *ud, const blis_live_request *request, double *rates,
                            blis_error *error) {
  const bind_acceptance *self = ud;
  question asked = {.tokens = self->tokens, .rates = rates};
  const blis_routing_request shown = blis_cluster_show(self->cluster, request);
  const blis_routing_view nobody = {.now_us = blis_cluster_now_us(self->cluster)};
  return bind_decide(&self->decider, &shown, &nobody, ask, &asked, error);
}

void check_acceptance(lua_State *L, int index, bind_view *view, bind_acceptance *made,
                      blis_speculation_config *config) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "speculation") != LUA_TNIL) {
    *made =
        (bind_acceptance){.decider = {.view = view, .kind = "speculation", .name = "acceptance"},
                          .tokens = config->tokens};
    made->decider.function = push_hook_field(L, top + 1, "acceptance_of", view->hooks);
    if (made->decider.function != 0) {
      config->rates_of = rates_of;
      config->rates_ud = made;
    }
  }
  lua_settop(L, top);
}
