#include "lua/bind/deprecated.h"

#include <lauxlib.h>

void note_deprecated(lua_State *L, const char *place, const char *old_name, const char *new_name) {
  int top = lua_gettop(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "blis.notices") == LUA_TTABLE) {
    lua_getfield(L, -1, "tell");
    lua_pushfstring(L, "%s: '%s' is deprecated and will be removed in blis 2.0.0; use '%s'", place,
                    old_name, new_name);
    lua_call(L, 1, 0);
  }
  lua_settop(L, top);
}
