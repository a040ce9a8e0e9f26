#include "lua/lua_core.h"

#include "base/nearest.h"
#include "lua/bind.h"
#include "lua/embedded.h"
#include "lua/lua_rng.h"
#include "lua/lua_vector.h"
#include "routing/signals.h"

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

/* nearest(word, words): the word that is meant, or nil. */
static int core_nearest(lua_State *L) {
  blis_nearest nearest = {.wanted = luaL_checkstring(L, 1)};
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 2);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i); /* stays alive in the table */
    blis_nearest_offer(&nearest, luaL_checkstring(L, -1));
    lua_pop(L, 1);
  }
  lua_pushstring(L, nearest.word);
  return 1;
}

/* error_object(code, message): what error() is to be called with. */
static int core_error_object(lua_State *L) {
  push_error_object(L, luaL_checkstring(L, 1));
  luaL_checkstring(L, 2);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "message");
  return 1;
}

/* signals(): {{name=, unit=, summary=}, ...} */
static int core_signals(lua_State *L) {
  lua_createtable(L, BLIS_SIGNAL_COUNT, 0);
  for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
    lua_createtable(L, 0, 3);
    lua_pushstring(L, blis_signal_name((blis_signal)i));
    lua_setfield(L, -2, "name");
    lua_pushstring(L, blis_signal_unit((blis_signal)i));
    lua_setfield(L, -2, "unit");
    lua_pushstring(L, blis_signal_summary((blis_signal)i));
    lua_setfield(L, -2, "summary");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static const luaL_Reg core_functions[] = {
    {"embedded", core_embedded},
    {"error_object", core_error_object},
    {"nearest", core_nearest},
    {"rng", bind_rng_new},
    {"signals", core_signals},
    {NULL, NULL},
};

int luaopen_blis_core(lua_State *L) {
  luaL_checkversion(L);
  bind_open_errors(L);
  bind_open_rng(L);
  luaL_newlib(L, core_functions);
  push_vector_library(L);
  lua_setfield(L, -2, "vec");
  lua_pushliteral(L, BLIS_VERSION);
  lua_setfield(L, -2, "_VERSION");
  return 1;
}
