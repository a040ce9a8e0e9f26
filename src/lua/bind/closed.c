#include "lua/bind/closed.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/bind/bind.h"

/* (table, key), where the table has no such key. */
static int on_missing(lua_State *L) {
  const bind_closed *closed = lua_touserdata(L, lua_upvalueindex(1));
  const char *name =
      lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : push_what(L, 2);
  blis_nearest nearest = {.wanted = name};
  for (const char *const *known = closed->names; *known != NULL; known++) {
    if (strcmp(*known, name) == 0) {
      return 0; /* nil for now */
    }
    blis_nearest_offer(&nearest, *known);
  }
  if (closed->offer_more != NULL) {
    closed->offer_more(L, name, &nearest);
  }
  blis_suggestion suggestion = blis_nearest_suggest_or(&nearest, closed->help);
  return luaL_error(L, "%s has no field '%s'%s", closed->owner, name,
                    suggestion.text);
}

void close_table(lua_State *L, const bind_closed *closed) {
  if (luaL_newmetatable(L, closed->type)) {
    lua_pushlightuserdata(L, (void *)closed);
    lua_pushcclosure(L, on_missing, 1);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, closed->type);
    lua_setfield(L, -2, "__metatable");
  }
  lua_setmetatable(L, -2);
}
