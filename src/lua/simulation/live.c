#include "lua/simulation/live.h"

#include <lauxlib.h>
#include <stdio.h>

#include "lua/bind/bind.h"
#include "lua/live/desk.h"

#ifdef BLIS_HAVE_LIBEVENT
#include "http/server.h"
#endif

void bind_configure_live(lua_State *L, int config, bind_simulation *sim,
                         blis_cluster_config *made) {
  (void)sim;
  lua_getfield(L, config, "workload");
  blis_live_desk *desk = bind_live_desk_at(L, lua_gettop(L));
  if (desk != NULL) {
    made->options[BLIS_FEATURE_TOKENS] = blis_live_desk_sink(desk);
    made->steps = blis_live_desk_steps(desk, made->steps);
  }
  lua_pop(L, 1);
}

#ifdef BLIS_HAVE_LIBEVENT

/* Pushes what keeps the endpoints of the table at index. */
static blis_http_endpoint *push_endpoints(lua_State *L, int index, size_t *count) {
  lua_getfield(L, index, "endpoints");
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *count = lua_rawlen(L, list);
  blis_http_endpoint *endpoints = push_buffer(L, *count, sizeof *endpoints);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    int one = lua_gettop(L);
    endpoints[i] = (blis_http_endpoint){.address = check_field_string(L, one, "address"),
                                        .port = (uint16_t)check_field_integer(L, one, "port"),
                                        .instance = opt_field_integer(L, one, "instance", -1)};
    lua_pop(L, 1);
  }
  return endpoints;
}

static void write_ready(void *ud) {
  fputs(ud, stderr);
  fflush(stderr);
}

static int push_outcome(lua_State *L, const blis_http_outcome *outcome) {
  lua_createtable(L, 0, 6);
  set_field_integer(L, "signal", outcome->signal);
  set_field_integer(L, "requests", outcome->requests);
  set_field_integer(L, "dropped", outcome->dropped);
  set_field_integer(L, "interventions", outcome->interventions);
  set_field_integer(L, "lag_p50_us", outcome->lag_p50_us);
  set_field_integer(L, "lag_p99_us", outcome->lag_p99_us);
  return 1;
}

int bind_live_serve(lua_State *L) {
  enum { SIMULATION = 1, DESK, OPTIONS };
  luaL_checktype(L, OPTIONS, LUA_TTABLE);
  lua_settop(L, OPTIONS);
  blis_live_desk *desk = check_live_desk(L, DESK);
  blis_http_config config = {
      .desk = desk,
      .speed = check_field_number(L, OPTIONS, "speed"),
      .version = check_field_string(L, OPTIONS, "version"),
      .stall_timeout_us = check_field_integer(L, OPTIONS, "stall_timeout_us"),
      .duration_us = opt_field_integer(L, OPTIONS, "duration_us", 0),
      .grace_us = check_field_integer(L, OPTIONS, "grace_us"),
      .shows_cached = opt_field_boolean(L, OPTIONS, "shows_cached", true),
      .echoes_request_ids = opt_field_boolean(L, OPTIONS, "echoes_request_ids", false),
      .ready = write_ready,
      .ready_ud = (void *)check_field_string(L, OPTIONS, "ready")};
  config.endpoints = push_endpoints(L, OPTIONS, &config.endpoint_count);
  bind_simulation *sim = check_drivable(L, "serve");
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_http_outcome outcome = {0};
  blis_live_desk_open(desk, sim->cluster, &(blis_live_caller){0});
  blis_status status = blis_http_serve(&alloc, &config, &outcome, &error);
  check_shut(L, SIMULATION, sim, status, &error);
  return push_outcome(L, &outcome);
}

const char *bind_live_version(void) {
  return blis_http_library();
}

#else

int bind_live_serve(lua_State *L) {
  return luaL_error(L, "this build has no libevent");
}

const char *bind_live_version(void) {
  return NULL;
}

#endif

int bind_live_library(lua_State *L) {
  lua_pushstring(L, bind_live_version()); /* nil for NULL */
  return 1;
}
