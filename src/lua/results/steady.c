#include "lua/results/record_methods.h"

#include <math.h>

#include "lua/bind/bind.h"
#include "lua/results/records.h"
#include "results/analysis/arrivals.h"

static const char *const kind_names[] = {
#define XX(constant, name) name,
    BLIS_LATENCY_KIND_MAP(XX)
#undef XX
        NULL,
};

int bind_mser5(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  size_t count = lua_rawlen(L, 1);
  double *series = push_buffer(L, count, sizeof *series);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    series[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  bool is_settled;
  lua_pushinteger(L, (lua_Integer)blis_mser5(series, count, &is_settled));
  lua_pushboolean(L, is_settled);
  return 2;
}

int bind_records_warm_up(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  blis_alloc alloc = bind_alloc(L);
  blis_arrivals arrivals;
  check_status(L, blis_arrivals_init(&arrivals, records->recorder, 0), NULL);
  int64_t from_us;
  bool is_settled;
  check_status(L, blis_arrivals_warm_up(&arrivals, &alloc, &from_us, &is_settled), NULL);
  lua_pushinteger(L, from_us);
  lua_pushboolean(L, is_settled);
  return 2;
}

/* Sets a list of the values, each divided by unit. */
static void set_batches(lua_State *L, const char *name, const double values[BLIS_BATCH_COUNT],
                        double unit) {
  lua_createtable(L, BLIS_BATCH_COUNT, 0);
  for (int b = 0; b < BLIS_BATCH_COUNT; b++) {
    lua_pushnumber(L, values[b] / unit);
    lua_rawseti(L, -2, b + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_means(lua_State *L, const char *name, const blis_arrivals *arrivals,
                      blis_latency_kind kind, double unit) {
  double means_us[BLIS_BATCH_COUNT];
  if (blis_arrivals_means(arrivals, kind, means_us)) {
    set_batches(L, name, means_us, unit);
  }
}

static void set_beyond(lua_State *L, const char *name, const blis_arrivals *arrivals,
                       blis_latency_kind kind, double limit_ms) {
  if (arrivals->count >= BLIS_BATCH_COUNT) {
    double shares[BLIS_BATCH_COUNT];
    blis_arrivals_beyond(arrivals, kind, limit_ms, shares);
    set_batches(L, name, shares, 1);
  }
}

/* Replaces the target on top of the stack with its results. */
static void replace_target(lua_State *L, const blis_arrivals *arrivals) {
  luaL_checktype(L, -1, LUA_TTABLE);
  blis_latency_kind kind = (blis_latency_kind)check_field_choice(L, -1, "latency", kind_names);
  double share = opt_field_number(L, -1, "share", -1);
  double limit_ms = check_field_number(L, -1, "limit_ms");
  lua_pop(L, 1);
  lua_createtable(L, 0, 2);
  if (share < 0) {
    set_means(L, "batches", arrivals, kind, 1000);
    return;
  }
  set_beyond(L, "batches", arrivals, kind, limit_ms);
  blis_alloc alloc = bind_alloc(L);
  double value_us;
  check_status(L, blis_arrivals_percentile(arrivals, &alloc, kind, share, &value_us), NULL);
  if (value_us >= 0) {
    set_field_number(L, "value_ms", value_us / 1000);
    set_beyond(L, "tail", arrivals, kind, value_us / 1000);
  }
}

int bind_records_batches(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  lua_Integer from_us = luaL_checkinteger(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  blis_arrivals arrivals;
  check_status(L, blis_arrivals_init(&arrivals, records->recorder, from_us), NULL);
  blis_arrivals_figures figures = blis_arrivals_measure(&arrivals);
  lua_createtable(L, 0, 8);
  set_field_integer(L, "arrived", (int64_t)arrivals.count);
  set_field_integer(L, "completed", (int64_t)figures.completed);
  set_field_integer(L, "span_us", figures.span_us);
  set_field_number(L, "e2e_us", figures.e2e_us);
  set_beyond(L, "missed", &arrivals, BLIS_LATENCY_E2E, INFINITY);
  set_means(L, "ttft", &arrivals, BLIS_LATENCY_TTFT, 1);
  set_means(L, "e2e", &arrivals, BLIS_LATENCY_E2E, 1);
  lua_Integer count = (lua_Integer)lua_rawlen(L, 3);
  lua_createtable(L, (int)count, 0);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 3, i);
    replace_target(L, &arrivals);
    lua_rawseti(L, -2, i);
  }
  lua_setfield(L, -2, "targets");
  return 1;
}
