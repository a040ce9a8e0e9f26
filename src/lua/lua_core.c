#include "lua/lua_core.h"

#include <lauxlib.h>

#include "lua/embedded.h"

/* embedded(name): the text of a file below data/, or nil. */
static int core_embedded(lua_State *L) {
  const blis_embedded_file *file =
      blis_embedded_find(luaL_checkstring(L, 1));
  if (file == NULL) {
    lua_pushnil(L);
  } else {
    lua_pushlstring(L, file->bytes, file->size);
  }
  return 1;
}

static const luaL_Reg core_functions[] = {
    {"embedded", core_embedded},
    {NULL, NULL},
};

int luaopen_blis_core(lua_State *L) {
  luaL_checkversion(L);
  luaL_newlib(L, core_functions);
  lua_pushliteral(L, BLIS_VERSION);
  lua_setfield(L, -2, "_VERSION");
  return 1;
}
