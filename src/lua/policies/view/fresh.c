#include "lua/policies/view/fresh.h"

#include <lauxlib.h>

static bool has_field(lua_State *L, int index, const char *name) {
  bool has = lua_getfield(L, index, name) != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

bool is_scripted_policy(lua_State *L, int index, const char *function) {
  return has_field(L, index, function) || has_field(L, index, "make");
}

void check_fresh(lua_State *L, int index, const blis_policy_context *context) {
  luaL_checktype(L, index, LUA_TTABLE);
  if (lua_getfield(L, index, "make") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_pushinteger(L, context->script_seed);
  lua_pushinteger(L, context->instance_count);
  lua_pushinteger(L, context->kv_block_size_tokens);
  lua_pushinteger(L, context->kv_blocks);
  lua_pushinteger(L, (lua_Integer)context->replica + 1);
  lua_pushinteger(L, context->replicas > 0 ? context->replicas : 1);
  lua_call(L, 6, 1);
  lua_replace(L, index);
}

/* Pushes the table of the policies created for this run, by definition. */
static void push_made(lua_State *L, bind_view *view) {
  bind_hooks_anchor(L, view->hooks);
  if (lua_rawgeti(L, -1, ANCHOR_FRESH) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, ANCHOR_FRESH);
  }
  lua_remove(L, -2);
}

void check_fresh_once(lua_State *L, int index, bind_view *view) {
  int top = lua_gettop(L);
  push_made(L, view);
  lua_pushvalue(L, index);
  if (lua_rawget(L, top + 1) == LUA_TNIL) {
    lua_pushvalue(L, index); // [made, nil, definition]
    check_fresh(L, index, &view->context);
    lua_pushvalue(L, index);
    lua_rawset(L, top + 1);
    lua_pushvalue(L, index);
  }
  lua_replace(L, index);
  lua_settop(L, top);
}
