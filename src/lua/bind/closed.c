#include "lua/bind/closed.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/bind/bind.h"

/* Handles a read of the key at index 2, which the table at index 1 does not contain. */
static int miss(lua_State *L, const bind_closed *closed) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : push_what(L, 2);
  blis_nearest nearest = {.wanted = name};
  for (const char *const *known = closed->names; *known != NULL; known++) {
    if (strcmp(*known, name) == 0) {
      return 0; /* a known name that is nil at the moment */
    }
    blis_nearest_offer(&nearest, *known);
  }
  if (closed->offer_more != NULL) {
    closed->offer_more(L, name, &nearest);
  }
  blis_suggestion suggestion = blis_nearest_suggest_or(&nearest, closed->help);
  return luaL_error(L, "%s has no field '%s'%s", closed->owner, name, suggestion.text);
}

/* (table, key) */
static int on_missing(lua_State *L) {
  return miss(L, lua_touserdata(L, lua_upvalueindex(1)));
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

/* Sealed tables: metamethods of the empty proxy. */

enum { UP_CLOSED = 1, UP_TABLE, UP_INSTEAD };

static const bind_closed *closed_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(UP_CLOSED));
}

/* (table, key) */
static int on_read(lua_State *L) {
  const bind_closed *closed = closed_of(L);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  bool is_there = lua_rawget(L, lua_upvalueindex(UP_TABLE)) != LUA_TNIL;
  return is_there || closed->names == NULL ? 1 : miss(L, closed);
}

static int on_write(lua_State *L) {
  return luaL_error(L, "%s cannot be changed; %s", closed_of(L)->owner,
                    lua_tostring(L, lua_upvalueindex(UP_INSTEAD)));
}

static int on_length(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, lua_upvalueindex(UP_TABLE)));
  return 1;
}

/* (table, key), like next. */
static int next_pair(lua_State *L) {
  lua_settop(L, 2);
  return lua_next(L, 1) != 0 ? 2 : 0;
}

static int on_pairs(lua_State *L) {
  lua_pushcfunction(L, next_pair);
  lua_pushvalue(L, lua_upvalueindex(UP_TABLE));
  return 2;
}

void seal_table(lua_State *L, const bind_closed *closed, const char *instead) {
  static const struct {
    const char *event;
    lua_CFunction function;
  } functions[] = {
      {"__index", on_read}, {"__newindex", on_write}, {"__len", on_length}, {"__pairs", on_pairs}};
  int table = lua_gettop(L);
  lua_newtable(L);
  lua_createtable(L, 0, 5);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    lua_pushlightuserdata(L, (void *)closed);
    lua_pushvalue(L, table);
    lua_pushstring(L, instead);
    lua_pushcclosure(L, functions[i].function, 3);
    lua_setfield(L, -2, functions[i].event);
  }
  set_field_string(L, "__metatable", closed->type);
  lua_setmetatable(L, -2);
  lua_replace(L, table);
}
