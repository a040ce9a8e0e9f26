#include "lua/policies/view/stage_context.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "policy/contract/facts.h"
#include "policy/contract/stages.h"

int64_t check_instance_value(lua_State *L, int index, const char *name) {
  int is_integer = 0;
  int type = lua_type(L, index);
  if (type == LUA_TTABLE) {
    lua_getfield(L, index, "index");
  } else {
    lua_pushvalue(L, index);
  }
  lua_Integer number = lua_tointegerx(L, -1, &is_integer);
  lua_pop(L, 1);
  if (type != LUA_TNIL && (!is_integer || number < 1)) {
    luaL_error(L, "%s is %s, expected an instance or its index", name, push_what(L, index));
  }
  return type == LUA_TNIL ? -1 : number - 1;
}

int64_t check_instance_field(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  int64_t number = check_instance_value(L, lua_gettop(L), name);
  lua_pop(L, 1);
  return number;
}

static bind_view *check_view(lua_State *L) {
  bind_view *view = lua_touserdata(L, lua_upvalueindex(1));
  if (view->view == NULL) {
    luaL_error(L, "a context can be read only during a decision");
  }
  return view;
}

/* Links. */

/* Checks one end of a transfer: the instance must have the role. */
static uint32_t check_end(lua_State *L, const bind_view *view, int argument, uint32_t role) {
  const char *name = role == BLIS_ROLE_PREFILL ? "prefill" : "decode";
  const blis_stages *stages = view->request->stages;
  int64_t number = check_instance_value(L, argument, name);
  if (number < 0 || number >= (int64_t)view->instance_count) {
    luaL_error(L, "%s is not an instance of this cluster", name);
  }
  if ((stages->roles(stages->ud, (uint32_t)number) & role) == 0) {
    push_alias_instance(L, &view->hooks->alias, number);
    luaL_error(L,
               "%s does not %s; KV goes from an instance that "
               "prefills to one that decodes, in this order",
               lua_tostring(L, -1), name);
  }
  return (uint32_t)number;
}

static int links_gb_s(lua_State *L) {
  const bind_view *view = check_view(L);
  const blis_stages *stages = view->request->stages;
  lua_settop(L, 2);
  uint32_t source = check_end(L, view, 1, BLIS_ROLE_PREFILL);
  uint32_t destination = check_end(L, view, 2, BLIS_ROLE_DECODE);
  lua_pushnumber(L, stages->bytes_per_us(stages->ud, source, destination) / 1000);
  return 1;
}

static int links_transfer_ms(lua_State *L) {
  const bind_view *view = check_view(L);
  const blis_stages *stages = view->request->stages;
  lua_settop(L, 2);
  uint32_t source = check_end(L, view, 1, BLIS_ROLE_PREFILL);
  uint32_t destination = check_end(L, view, 2, BLIS_ROLE_DECODE);
  blis_error error;
  double us = 0;
  check_status(L, stages->transfer_us(stages->ud, view->request, source, destination, &us, &error),
               &error);
  lua_pushnumber(L, us / 1000);
  return 1;
}

static const luaL_Reg links_functions[] = {
    {"gb_s", links_gb_s}, {"transfer_ms", links_transfer_ms}, {NULL, NULL}};

/* Fields. */

static void push_stage(lua_State *L, const bind_view *view) {
  lua_pushstring(L, view->request->stage == BLIS_ROLE_PREFILL ? "prefill" : "decode");
}

static void push_peer(lua_State *L, bind_view *view, int anchor) {
  if (view->peer < 0) {
    lua_pushnil(L);
    return;
  }
  const blis_routing_view *shown = view->view;
  bool is_shown = blis_routing_view_find(shown, (uint32_t)view->peer) < shown->count;
  if (!is_shown && view->peers == NULL) {
    push_view_peers(L, view, anchor); /* the fields have current values */
    lua_pop(L, 1);
  }
  lua_rawgeti(L, anchor, ANCHOR_INSTANCES);
  lua_rawgeti(L, -1, (lua_Integer)view->peer + 1);
}

static void push_pool(lua_State *L, bind_view *view, int anchor, uint32_t role) {
  if (view->request->stage == role) {
    push_view_candidates(L, view, anchor);
  } else {
    push_view_peers(L, view, anchor);
  }
}

static int context_index(lua_State *L) {
  bind_view *view = check_view(L);
  const char *name = luaL_tolstring(L, 2, NULL);
  bind_hooks_anchor(L, view->hooks);
  int anchor = lua_gettop(L);
  bool has_pools = view->request->stages != NULL;
  if (strcmp(name, "stage") == 0 && has_pools) {
    push_stage(L, view);
  } else if (strcmp(name, "peer") == 0 && has_pools) {
    push_peer(L, view, anchor);
  } else if (strcmp(name, "prefill") == 0 && has_pools) {
    push_pool(L, view, anchor, BLIS_ROLE_PREFILL);
  } else if (strcmp(name, "decode") == 0 && has_pools) {
    push_pool(L, view, anchor, BLIS_ROLE_DECODE);
  } else if (strcmp(name, "links") == 0 && has_pools) {
    lua_rawgeti(L, anchor, ANCHOR_LINKS);
  } else if (has_pools) {
    return luaL_error(L,
                      "a context has no field '%s', but stage, peer, prefill, "
                      "decode and links",
                      name);
  } else {
    lua_pushnil(L); /* prefill and decode are not disaggregated */
  }
  return 1;
}

static int context_newindex(lua_State *L) {
  return luaL_error(L, "a context is read-only");
}

static const luaL_Reg context_meta[] = {
    {"__index", context_index}, {"__newindex", context_newindex}, {NULL, NULL}};

void push_stage_context(lua_State *L, bind_view *view) {
  bind_hooks_anchor(L, view->hooks);
  int anchor = lua_gettop(L);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushlightuserdata(L, view);
  luaL_setfuncs(L, context_meta, 1);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  lua_rawseti(L, anchor, ANCHOR_CONTEXT);
  lua_newtable(L);
  lua_pushlightuserdata(L, view);
  luaL_setfuncs(L, links_functions, 1);
  lua_rawseti(L, anchor, ANCHOR_LINKS);
  lua_pop(L, 1);
}
