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
    made->options[BLIS_FEATURE_ANNOUNCEMENTS] = blis_live_desk_blocks(desk);
    made->options[BLIS_FEATURE_PULLS] = blis_live_desk_pulls(desk);
    made->steps = blis_live_desk_steps(desk, made->steps);
  }
  lua_pop(L, 1);
}

#ifdef BLIS_HAVE_LIBEVENT

/* Pushes a buffer with the endpoints of the table at index. */
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

/* Pushes what keeps the feeds of the table at index, and the table itself; NULL = it has none. */
static blis_http_feed *push_feeds(lua_State *L, int index, size_t *count) {
  *count = 0;
  if (lua_getfield(L, index, "feeds") == LUA_TNIL) {
    return NULL;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *count = lua_rawlen(L, list);
  blis_http_feed *feeds = push_buffer(L, *count, sizeof *feeds);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    int one = lua_gettop(L);
    feeds[i] =
        (blis_http_feed){.address = check_field_string(L, one, "address"),
                         .port = (uint16_t)check_field_integer(L, one, "port"),
                         .replay_address = opt_field_string(L, one, "replay_address"),
                         .replay_port = (uint16_t)opt_field_integer(L, one, "replay_port", 0),
                         .topic = check_field_string(L, one, "topic")};
    lua_pop(L, 1);
  }
  return feeds;
}

static void write_ready(void *ud) {
  fputs(ud, stderr);
  fflush(stderr);
}

/* Control: the Lua function at index FUNCTION of the stack of L. */
typedef struct control {
  lua_State *L;
  int function;
} control;

/* status, text, speed or nil, is_read_only = function(method, action, query, body, speed) */
static int on_control(void *ud, blis_http_control *request, blis_buffer *text) {
  const control *self = ud;
  lua_State *L = self->L;
  int top = lua_gettop(L);
  lua_pushvalue(L, self->function);
  lua_pushstring(L, request->method);
  lua_pushstring(L, request->action);
  lua_pushstring(L, request->query);
  lua_pushlstring(L, request->body.data, request->body.length);
  lua_pushnumber(L, request->speed);
  int status = 500;
  if (lua_pcall(L, 5, 4, 0) == LUA_OK && lua_isinteger(L, -4) && lua_isstring(L, -3)) {
    size_t length;
    const char *answer = lua_tolstring(L, -3, &length);
    blis_buffer_bytes(text, answer, length);
    status = (int)lua_tointeger(L, -4);
    request->speed = lua_isnumber(L, -2) ? lua_tonumber(L, -2) : request->speed;
    request->is_read_only = lua_toboolean(L, -1);
  } else {
    blis_buffer_string(text, "{\"error\":{\"message\":\"out of memory\"}}");
  }
  lua_settop(L, top);
  return status;
}

/* The function itself reports failures, such as lack of memory or file errors. */
static void on_changed(void *ud) {
  const control *self = ud;
  int top = lua_gettop(self->L);
  lua_pushvalue(self->L, self->function);
  (void)lua_pcall(self->L, 0, 0, 0);
  lua_settop(self->L, top);
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
      .splits = opt_field_boolean(L, OPTIONS, "splits", false),
      .block_tokens = (uint32_t)check_field_integer(L, OPTIONS, "block_tokens"),
      .shows_cached = opt_field_boolean(L, OPTIONS, "shows_cached", true),
      .echoes_request_ids = opt_field_boolean(L, OPTIONS, "echoes_request_ids", false),
      .ready = write_ready,
      .ready_ud = (void *)check_field_string(L, OPTIONS, "ready")};
  config.endpoints = push_endpoints(L, OPTIONS, &config.endpoint_count);
  config.feeds = push_feeds(L, OPTIONS, &config.feed_count);
  lua_getfield(L, OPTIONS, "control");
  control its_control = {.L = L, .function = lua_gettop(L)};
  if (!lua_isnil(L, -1)) {
    config.control = on_control;
    config.control_ud = &its_control;
  }
  lua_getfield(L, OPTIONS, "changed");
  control changed = {.L = L, .function = lua_gettop(L)};
  if (!lua_isnil(L, -1)) {
    config.changed = on_changed;
    config.changed_ud = &changed;
  }
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

const char *bind_live_zmq_version(void) {
  return blis_http_zmq_library();
}

#else

int bind_live_serve(lua_State *L) {
  return luaL_error(L, "this build has no libevent");
}

const char *bind_live_version(void) {
  return NULL;
}

const char *bind_live_zmq_version(void) {
  return NULL;
}

#endif

int bind_live_zmq_library(lua_State *L) {
  lua_pushstring(L, bind_live_zmq_version()); /* nil for NULL */
  return 1;
}

int bind_live_library(lua_State *L) {
  lua_pushstring(L, bind_live_version()); /* nil for NULL */
  return 1;
}
