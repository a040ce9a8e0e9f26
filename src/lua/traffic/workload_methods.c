#include "lua/traffic/workload_methods.h"

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/traffic/request_table.h"
#include "lua/traffic/source.h"
#include "lua/traffic/workload.h"

/* Workloads have no close method, because simulations read from them during their whole
   lifetime. */
static int workload_gc(lua_State *L) {
  blis_workload **self = luaL_checkudata(L, 1, WORKLOAD_TYPE);
  blis_workload_free(*self);
  *self = NULL;
  return 0;
}

static int source_close(lua_State *L) {
  bind_source_close(lua_touserdata(L, 1));
  return 0;
}

/* Adds a list of strings to the notes. */
static void add_notes(lua_State *L, int list, blis_workload *workload) {
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
    check_status(L, blis_workload_note(workload, "%s", luaL_checkstring(L, -1)), NULL);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

int bind_workload_new(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  bind_source *source = push_guarded(L, 1, sizeof *source, source_close);
  blis_workload **self = push_workload(L);
  check_source(L, 1, NULL, source);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status = blis_workload_collect(&alloc, &source->source, SIZE_MAX, self, &error);
  bind_source_close(source);
  check_status(L, status, &error);
  check_status(L, blis_workload_describe(*self, "generated requests"), NULL);
  add_notes(L, 2, *self);
  return 1;
}

/* workload:statistics([block_size]) */
static int workload_statistics(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  uint32_t block_size = check_block_size(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_workload_statistics measured;
  check_status(L, blis_workload_measure(&alloc, workload, block_size, &measured, &error), &error);
  push_statistics(L, &measured, block_size);
  return 1;
}

/* Iterator: returns the request that follows the number in the control value. */
static int next_request(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  lua_Integer index = luaL_checkinteger(L, 2);
  if (index < 0 || (size_t)index >= blis_workload_count(workload)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, index + 1);
  push_workload_request(L, workload, (size_t)index);
  return 2;
}

/* for i, request in workload:requests() do */
static int workload_requests(lua_State *L) {
  check_workload(L, 1);
  lua_pushcfunction(L, next_request);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

/* workload[i] is a request; workload.name is a method, implemented in C or Lua. */
static int workload_index(lua_State *L) {
  if (!lua_isinteger(L, 2)) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
      return luaL_error(L, "a workload has no field '%s'", luaL_tolstring(L, 2, NULL));
    }
    return 1;
  }
  const blis_workload *workload = check_workload(L, 1);
  lua_Integer index = lua_tointeger(L, 2);
  if (index < 1 || (size_t)index > blis_workload_count(workload)) {
    lua_pushnil(L);
  } else {
    push_workload_request(L, workload, (size_t)index - 1);
  }
  return 1;
}

/* workload:goodput_targets(): see push_goodput_targets. */
static int workload_goodput_targets(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  push_goodput_targets(L, blis_workload_targets(workload), blis_workload_target_count(workload));
  return 1;
}

/* workload:notes(): returns notes about the input for the user. */
static int workload_notes(lua_State *L) {
  push_notes(L, check_workload(L, 1));
  return 1;
}

/* workload:last_arrival_us(): returns 0 without requests. */
static int workload_last_arrival_us(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  size_t count = blis_workload_count(workload);
  lua_pushinteger(L, count > 0 ? blis_workload_request(workload, count - 1)->arrival_us : 0);
  return 1;
}

static int workload_description(lua_State *L) {
  lua_pushstring(L, blis_workload_description(check_workload(L, 1)));
  return 1;
}

/* workload:slice(first, count): returns another workload with some of the requests. */
static int workload_slice(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  lua_Integer first = luaL_checkinteger(L, 2);
  lua_Integer count = luaL_checkinteger(L, 3);
  luaL_argcheck(L, first >= 1, 2, "the first request is number 1");
  luaL_argcheck(L, count >= 0, 3, "a count is not negative");
  blis_workload **slice = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(
      L, blis_workload_slice(&alloc, workload, (size_t)first - 1, (size_t)count, slice, &error),
      &error);
  return 1;
}

static int workload_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)blis_workload_count(check_workload(L, 1)));
  return 1;
}

static const luaL_Reg workload_meta[] = {
    {"__gc", workload_gc},
    {"__len", workload_len},
    {NULL, NULL},
};

static const luaL_Reg workload_methods[] = {
    {"statistics", workload_statistics},
    {"requests", workload_requests},
    {"notes", workload_notes},
    {"goodput_targets", workload_goodput_targets},
    {"description", workload_description},
    {"last_arrival_us", workload_last_arrival_us},
    {"slice", workload_slice},
    {"map", bind_workload_map},
    {NULL, NULL},
};

int bind_workload_methods(lua_State *L) {
  luaL_getmetatable(L, WORKLOAD_TYPE);
  lua_getfield(L, -1, "methods");
  return 1;
}

void bind_open_workloads(lua_State *L) {
  push_new_type(L, WORKLOAD_TYPE, workload_meta, NULL);
  luaL_newlib(L, workload_methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "methods");
  lua_pushcclosure(L, workload_index, 1);
  lua_setfield(L, -2, "__index");
  set_list_pairs(L);
  lua_pop(L, 1);
}
