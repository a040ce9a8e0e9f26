#include "lua/files/output.h"

#include "base/format/output.h"
#include "lua/bind/bind.h"

#define OUTPUT_TYPE "blis.output"

/* The userdata contains NULL once the file is committed or discarded. */
static blis_output **to_output(lua_State *L) {
  return luaL_checkudata(L, 1, OUTPUT_TYPE);
}

static blis_output **check_output(lua_State *L) {
  blis_output **self = to_output(L);
  luaL_argcheck(L, *self != NULL, 1, "the file is closed");
  return self;
}

static int output_write(lua_State *L) {
  blis_output **self = check_output(L);
  blis_slice text;
  text.data = luaL_checklstring(L, 2, &text.length);
  blis_error error = {0};
  check_status(L, blis_output_write(*self, text, &error), &error);
  lua_settop(L, 1);
  return 1;
}

static int output_commit(lua_State *L) {
  blis_output **self = check_output(L);
  blis_output *output = *self;
  *self = NULL;
  blis_error error = {0};
  check_status(L, blis_output_commit(output, &error), &error);
  return 0;
}

static int output_discard(lua_State *L) {
  blis_output **self = to_output(L);
  blis_output_discard(*self);
  *self = NULL;
  return 0;
}

static int output_tostring(lua_State *L) {
  lua_pushstring(L, *to_output(L) == NULL ? "output (closed)" : "output");
  return 1;
}

int bind_output_new(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  blis_output **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  luaL_setmetatable(L, OUTPUT_TYPE);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_output_open(&alloc, path, self, &error), &error);
  return 1;
}

int bind_output_probe(lua_State *L) {
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_output_probe(&alloc, luaL_checkstring(L, 1), &error), &error);
  return 0;
}

void bind_open_outputs(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", output_discard},
                                  {"__close", output_discard},
                                  {"__tostring", output_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"write", output_write}, {"commit", output_commit}, {NULL, NULL}};
  push_new_type(L, OUTPUT_TYPE, meta, methods);
  lua_pop(L, 1);
}
