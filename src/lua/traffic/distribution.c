/* Lengths and arrivals from tables. */
#include "lua/traffic/distribution.h"

#include "lua/bind/bind.h"

void keep_on_top(lua_State *L, int keep) {
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
}

void check_distribution(lua_State *L, int table, int keep, blis_distribution_spec *spec) {
  luaL_checktype(L, table, LUA_TTABLE);
  spec->type = opt_field_string(L, table, "type");
  lua_getfield(L, table, "params");
  luaL_checktype(L, -1, LUA_TTABLE);
  spec->param_count = lua_rawlen(L, -1);
  blis_distribution_param *params = push_buffer(L, spec->param_count, sizeof *params);
  keep_on_top(L, keep);
  for (size_t i = 0; i < spec->param_count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    params[i].name = luaL_checkstring(L, -2); /* the specification keeps it alive */
    params[i].value = luaL_checknumber(L, -1);
    lua_pop(L, 3);
  }
  spec->params = params;
  lua_pop(L, 1);
}

void check_arrival(lua_State *L, int table, blis_arrival_spec *spec) {
  luaL_checktype(L, table, LUA_TTABLE);
  spec->process = opt_field_string(L, table, "process");
  spec->cv = opt_field_number(L, table, "cv", 0);
  spec->shape = opt_field_number(L, table, "shape", 0);
  spec->scale = opt_field_number(L, table, "scale", 0);
  spec->has_cv = lua_getfield(L, table, "cv") != LUA_TNIL;
  spec->has_shape = lua_getfield(L, table, "shape") != LUA_TNIL;
  spec->has_scale = lua_getfield(L, table, "scale") != LUA_TNIL;
  lua_pop(L, 3);
}

int bind_check_distribution(lua_State *L) {
  const char *where = luaL_checkstring(L, 2);
  lua_settop(L, 2);
  lua_newtable(L);
  blis_distribution_spec spec;
  check_distribution(L, 1, 3, &spec);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_distribution ready = {0};
  blis_status status = blis_distribution_init(&ready, &alloc, &spec, where, &error);
  if (status == BLIS_OK) {
    blis_distribution_deinit(&ready, &alloc);
  }
  check_status(L, status, &error);
  return 0;
}

int bind_check_arrival(lua_State *L) {
  const char *where = luaL_checkstring(L, 2);
  blis_arrival_spec spec;
  check_arrival(L, 1, &spec);
  blis_error error = {0};
  check_status(L, blis_arrival_check(&spec, where, &error), &error);
  const char *unused = blis_arrival_unused(&spec);
  if (unused != NULL) {
    blis_status status = blis_fail(&error, BLIS_ERR_INVALID, "%s: %s", where, unused);
    check_status(L, status, &error);
  }
  blis_arrival_note note;
  if (!blis_arrival_get_note(&spec, where, &note)) {
    return 0;
  }
  lua_pushstring(L, note.text);
  return 1;
}

bool opt_part(lua_State *L, int index, const char *name) {
  if (lua_getfield(L, index, name) == LUA_TNIL) {
    return false;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  return true;
}
