#include "lua/policies/fresh.h"

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
  lua_pushinteger(L, context->seed);
  lua_pushinteger(L, context->instance_count);
  lua_pushinteger(L, context->kv_block_size_tokens);
  lua_pushinteger(L, context->kv_blocks);
  lua_call(L, 4, 1);
  lua_replace(L, index);
}
