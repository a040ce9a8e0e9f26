#include "lua/live/desk.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/bind/bind.h"

typedef struct bind_desk {
  blis_live_desk *desk;
} bind_desk;

static int desk_gc(lua_State *L) {
  bind_desk *held = luaL_checkudata(L, 1, LIVE_DESK_TYPE);
  blis_live_desk_free(held->desk);
  held->desk = NULL;
  return 0;
}

static int desk_tostring(lua_State *L) {
  lua_pushliteral(L, "live desk");
  return 1;
}

blis_live_desk *bind_live_desk_at(lua_State *L, int index) {
  const bind_desk *held = luaL_testudata(L, index, LIVE_DESK_TYPE);
  return held == NULL ? NULL : held->desk;
}

blis_live_desk *check_live_desk(lua_State *L, int index) {
  const bind_desk *held = luaL_checkudata(L, index, LIVE_DESK_TYPE);
  luaL_argcheck(L, held->desk != NULL, index, "the desk is closed");
  return held->desk;
}

static int desk_pins(lua_State *L) {
  size_t count;
  const int64_t *pins = blis_live_desk_pins(check_live_desk(L, 1), &count);
  lua_createtable(L, (int)(count / 2), 0);
  for (size_t i = 0; i < count; i += 2) {
    lua_createtable(L, 2, 0);
    lua_pushinteger(L, pins[i]);
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, pins[i + 1]);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)(i / 2) + 1);
  }
  return 1;
}

/* Pushes an array of names. The table at index keeps the names alive. */
static const char **push_names(lua_State *L, int index, const char *field, size_t *count) {
  lua_getfield(L, index, field);
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *count = lua_rawlen(L, list);
  const char **names = push_buffer(L, *count, sizeof *names);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    names[i] = luaL_checkstring(L, -1);
    lua_pop(L, 1);
  }
  return names;
}

static uint32_t *push_lengths(lua_State *L, int index, size_t *count) {
  lua_getfield(L, index, "lengths");
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *count = lua_rawlen(L, list);
  luaL_argcheck(L, *count > 0, index, "lengths is empty");
  uint32_t *lengths = push_buffer(L, *count, sizeof *lengths);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    lengths[i] = (uint32_t)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  return lengths;
}

int bind_live_desk_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  bind_desk *held = lua_newuserdatauv(L, sizeof *held, 3);
  held->desk = NULL;
  luaL_setmetatable(L, LIVE_DESK_TYPE);
  blis_live_desk_config config = {
      .limits = {.vocabulary = (uint32_t)check_field_integer(L, 1, "vocabulary"),
                 .max_model_len = check_field_integer(L, 1, "max_model_len"),
                 .media_tokens = check_field_integer(L, 1, "media_tokens")},
      .block_tokens = (uint32_t)check_field_integer(L, 1, "block_tokens"),
      .seed = (uint64_t)check_field_integer(L, 1, "seed"),
      .instance_count = (uint32_t)check_field_integer(L, 1, "instances")};
  const char *flavor = check_field_string(L, 1, "flavor");
  if (!blis_live_find_flavor(flavor, &config.flavor)) {
    return luaL_error(L, "flavor is '%s', expected a name of BLIS_LIVE_FLAVOR_MAP", flavor);
  }
  config.pull_bytes_per_us = check_field_number(L, 1, "pull_bytes_per_us");
  config.pull_latency_us = check_field_integer(L, 1, "pull_latency_us");
  const char *format = check_field_string(L, 1, "kv_format");
  config.kv_format = strcmp(format, "array") == 0 ? BLIS_LIVE_KV_ARRAYS
                     : strcmp(format, "map") == 0 ? BLIS_LIVE_KV_MAPS
                                                  : BLIS_LIVE_NO_KV_EVENTS;
  config.limits.models = push_names(L, 1, "models", &config.limits.model_count);
  luaL_argcheck(L, config.limits.model_count > 0, 1, "models is empty");
  lua_setiuservalue(L, 2, 1); /* the array of names */
  config.adapters = push_names(L, 1, "adapters", &config.adapter_count);
  lua_setiuservalue(L, 2, 3);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, 2); /* the names */
  config.lengths = push_lengths(L, 1, &config.length_count);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_live_desk_new(&alloc, &config, &held->desk, &error), &error);
  lua_settop(L, 2);
  return 1;
}

static const luaL_Reg desk_meta[] = {
    {"__gc", desk_gc},
    {"__tostring", desk_tostring},
    {NULL, NULL},
};

static const luaL_Reg desk_methods[] = {
    {"pins", desk_pins},
    {NULL, NULL},
};

void bind_open_live_desks(lua_State *L) {
  push_new_type(L, LIVE_DESK_TYPE, desk_meta, desk_methods);
  lua_pop(L, 1);
}
