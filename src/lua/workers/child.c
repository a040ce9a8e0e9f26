#include "lua/workers/child.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/sandbox.h"
#include "lua/workers/child_process.h"

#define CHILD_TYPE "blis.child"

static int child_ask(lua_State *L) {
  blis_child_process *self = luaL_checkudata(L, 1, CHILD_TYPE);
  blis_slice line;
  line.data = luaL_checklstring(L, 2, &line.length);
  lua_Integer timeout_ms = luaL_checkinteger(L, 3);
  blis_slice answer;
  blis_error error = {0};
  blis_status status = blis_child_ask(self, line, timeout_ms, &answer, &error);
  if (status == BLIS_ERR_IO) {
    lua_pushnil(L);
    lua_pushstring(L, error.message);
    return 2;
  }
  check_status(L, status, &error);
  lua_pushlstring(L, answer.data, answer.length);
  return 1;
}

static int child_stop(lua_State *L) {
  blis_child_stop(luaL_checkudata(L, 1, CHILD_TYPE));
  return 0;
}

static int child_tostring(lua_State *L) {
  luaL_checkudata(L, 1, CHILD_TYPE);
  lua_pushliteral(L, "process");
  return 1;
}

int bind_child_new(lua_State *L) {
  const char *command = luaL_checkstring(L, 1);
  if (bind_sandbox_of(L) != NULL) {
    return luaL_error(L, "the sandbox starts no processes");
  }
  blis_child_process *self = lua_newuserdatauv(L, sizeof *self, 0);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, CHILD_TYPE);
  const blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_child_start(self, command, &alloc, &error), &error);
  return 1;
}

void bind_open_children(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", child_stop}, {"__tostring", child_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"ask", child_ask}, {"stop", child_stop}, {NULL, NULL}};
  push_new_type(L, CHILD_TYPE, meta, methods);
  lua_pop(L, 1);
}
