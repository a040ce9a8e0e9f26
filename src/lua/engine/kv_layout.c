#include "lua/engine/kv_layout.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"

static blis_kv_group check_group(lua_State *L, int index) {
  static const char *const kinds[] = {"full", "window", "chunk", "state", NULL};
  static const char *const states[] = {"none", "steps", "blocks", NULL};
  return (blis_kv_group){.kind = (blis_kv_group_kind)check_field_choice(L, index, "kind", kinds),
                         .block_tokens = check_field_integer(L, index, "block_size"),
                         .span_tokens = check_field_integer(L, index, "tokens"),
                         .count = check_field_integer(L, index, "count"),
                         .states =
                             (blis_kv_state_cache)check_field_choice(L, index, "states", states)};
}

bool check_kv_layout(lua_State *L, int index, blis_kv_layout *layout) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "kv_layout") == LUA_TNIL) {
    lua_settop(L, top);
    return false;
  }
  int list = lua_gettop(L);
  size_t count = (size_t)luaL_len(L, list);
  *layout = (blis_kv_layout){
      .count = count, .keeps_all_tokens = opt_field_boolean(L, list, "keeps_all_tokens", false)};
  for (size_t i = 0; i < count && i < BLIS_KV_LAYOUT_KINDS; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    layout->groups[i] = check_group(L, lua_gettop(L));
    lua_settop(L, list);
  }
  lua_settop(L, top);
  return true;
}
