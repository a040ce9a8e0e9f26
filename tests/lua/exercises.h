/*
 * exercises.h - lists of functions in Lua that use the binding in small ways,
 * and a state to call them in. Working folder is the root of the project.
 */
#ifndef BLIS_TESTS_EXERCISES_H
#define BLIS_TESTS_EXERCISES_H

#include <lauxlib.h>
#include <lualib.h>

#include "check.h"
#include "lua/bind/sandbox.h"
#include "lua/core.h"

static const char exercises_of_all[] = "tests/lua/binding_memory.lua";
static const char exercises_in_a_sandbox[] = "tests/lua/sandbox_memory.lua";

/* Opens a state with the list of exercises at index 1. */
static lua_State *open_exercises(lua_Alloc allocate, void *ud, const char *path,
                                 bind_sandbox *sandbox) {
  static const char set_path[] = "package.path = 'lua/?.lua;lua/?/init.lua'";
  lua_State *L = lua_newstate(allocate, ud);
  CHECK(L != NULL);
  luaL_openlibs(L);
  luaL_requiref(L, "blis.core", luaopen_blis_core, 0);
  lua_settop(L, 0);
  if (sandbox != NULL) {
    bind_sandbox_open(L, sandbox);
  }
  CHECK(luaL_dostring(L, set_path) == LUA_OK);
  int status = luaL_dofile(L, path);
  if (status != LUA_OK) {
    printf("%s\n", lua_tostring(L, -1));
  }
  CHECK(status == LUA_OK && lua_type(L, 1) == LUA_TTABLE);
  return L;
}

/* Calls exercise number i, from 1. A status of Lua; the error is on top. */
static int call_exercise(lua_State *L, lua_Integer i) {
  lua_settop(L, 1);
  lua_rawgeti(L, 1, i);
  return lua_pcall(L, 0, 0, 0);
}

#endif
