#include "lua/bind/sandbox.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>

enum { COUNT = 1000 };

/* The place of the sandbox in the registry; its address is the key. */
static const char sandbox_key;

bind_sandbox *bind_sandbox_of(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &sandbox_key);
  bind_sandbox *sandbox = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return sandbox;
}

/* The value that is raised cannot be made by a script, and needs no memory. */
static int raise_fatal(lua_State *L, bind_sandbox *sandbox, const char *what) {
  if (sandbox->fatal == NULL) {
    sandbox->fatal = what;
  }
  lua_pushlightuserdata(L, sandbox);
  return lua_error(L);
}

static const char out_of_instructions[] = "instructions";
static const char out_of_memory[] = "memory";

static void count(lua_State *L, lua_Debug *event) {
  (void)event;
  bind_sandbox *sandbox = bind_sandbox_of(L);
  sandbox->left -= COUNT;
  if (sandbox->fatal != NULL || sandbox->left < 0) {
    lua_sethook(L, count, LUA_MASKCOUNT, 1);
    raise_fatal(L, sandbox, out_of_instructions);
  }
}

void *bind_sandbox_allocate(void *ud, void *block, size_t old_size,
                            size_t new_size) {
  bind_sandbox *sandbox = ud;
  size_t held = block == NULL ? 0 : old_size; /* else it is a kind of object */
  if (new_size == 0) {
    free(block);
    sandbox->used_bytes -= held;
    return NULL;
  }
  if (new_size > held &&
      (new_size > sandbox->memory_bytes ||
       sandbox->used_bytes - held > sandbox->memory_bytes - new_size)) {
    sandbox->fatal = sandbox->fatal == NULL ? out_of_memory : sandbox->fatal;
    if (sandbox->L != NULL) {
      lua_sethook(sandbox->L, count, LUA_MASKCOUNT, 1);
    }
    return NULL;
  }
  void *moved = realloc(block, new_size);
  if (moved != NULL) {
    sandbox->used_bytes += new_size - held;
  }
  return moved;
}

/* charge(n) */
static int charge(lua_State *L) {
  bind_sandbox *sandbox = bind_sandbox_of(L);
  lua_Integer instructions = luaL_checkinteger(L, 1);
  luaL_argcheck(L, instructions >= 0, 1, "below 0");
  bool is_enough = instructions <= sandbox->left;
  sandbox->left = is_enough ? sandbox->left - instructions : -1;
  if (sandbox->fatal != NULL || !is_enough) {
    lua_sethook(L, count, LUA_MASKCOUNT, 1);
    return raise_fatal(L, sandbox, out_of_instructions);
  }
  return 0;
}

/*
 * ("x"):method: blis itself gets the library, everybody else the functions of
 * the sandbox. Upvalues: both tables.
 */
static int string_index(lua_State *L) {
  lua_Debug caller = {0};
  bool is_own = lua_getstack(L, 1, &caller) != 0 &&
                lua_getinfo(L, "S", &caller) != 0 && caller.source[0] == '@';
  lua_settop(L, 2);
  lua_rawget(L, lua_upvalueindex(is_own ? 1 : 2));
  return 1;
}

/* seal(functions): these are the methods of strings for scripts. */
static int seal(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_getglobal(L, "string");
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, string_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  return 0;
}

static int open_module(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"charge", charge}, {"seal", seal}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}

void bind_sandbox_open(lua_State *L, bind_sandbox *sandbox) {
  lua_pushlightuserdata(L, sandbox);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox_key);
  luaL_requiref(L, "blis.sandbox_core", open_module, 0);
  lua_pop(L, 1);
  sandbox->L = L;
  sandbox->left = sandbox->call_instructions;
  lua_sethook(L, count, LUA_MASKCOUNT, COUNT);
}

void bind_sandbox_close(lua_State *L) {
  lua_sethook(L, NULL, 0, 0);
}
