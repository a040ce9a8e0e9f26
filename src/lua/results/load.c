#include "lua/results/record_methods.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"
#include "lua/results/records.h"
#include "results/analysis/load.h"
#include "results/record/recorder.h"

enum { MAX_INTERVALS = 10000, MAX_SLOWEST = 1000 };

static void set_numbers(lua_State *L, const char *name, const double *values, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t k = 0; k < count; k++) {
    lua_pushnumber(L, values[k]);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_counts(lua_State *L, const char *name, const int64_t *values, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t k = 0; k < count; k++) {
    lua_pushinteger(L, values[k]);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
  lua_setfield(L, -2, name);
}

static void push_load(lua_State *L, const blis_load *load) {
  size_t count = load->interval_count;
  lua_createtable(L, 0, 5);
  set_numbers(L, "transferring", load->transferring, count);
  set_numbers(L, "before_transfer", load->before_transfer, count);
  set_counts(L, "arrived", load->arrived, count);
  set_counts(L, "completed", load->completed, count);
  lua_createtable(L, (int)load->instance_count, 0);
  for (size_t i = 0; i < load->instance_count; i++) {
    lua_createtable(L, 0, 2);
    set_numbers(L, "waiting", &load->waiting[i * count], count);
    set_numbers(L, "running", &load->running[i * count], count);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "instances");
}

static int load_gc(lua_State *L) {
  blis_load_deinit(lua_touserdata(L, 1));
  return 0;
}

int bind_records_load(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  lua_Integer instances = luaL_checkinteger(L, 2);
  lua_Integer to_us = luaL_checkinteger(L, 3);
  lua_Integer intervals = luaL_checkinteger(L, 4);
  luaL_argcheck(L, instances >= 1 && instances <= INT32_MAX, 2, "expected at least 1");
  luaL_argcheck(L, to_us >= 1, 3, "before the run has begun");
  luaL_argcheck(L, intervals >= 1 && intervals <= MAX_INTERVALS, 4, "from 1 to 10000");
  blis_alloc alloc = bind_alloc(L);
  blis_load *load = push_guarded(L, 1, sizeof *load, load_gc);
  check_status(
      L,
      blis_load_init(load, &alloc, records->recorder, (size_t)instances, (size_t)intervals, to_us),
      NULL);
  push_load(L, load);
  blis_load_deinit(load);
  return 1;
}

int bind_records_slowest(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  lua_Integer wanted = luaL_checkinteger(L, 2);
  luaL_argcheck(L, wanted >= 0 && wanted <= MAX_SLOWEST, 2, "from 0 to 1000");
  check_status(L, blis_recorder_sort(records->recorder), NULL);
  size_t places[MAX_SLOWEST];
  size_t count = blis_recorder_slowest(records->recorder, places, (size_t)wanted);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushinteger(L, (lua_Integer)places[i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
