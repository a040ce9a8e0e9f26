#include "lua/traffic/trace_stream.h"

#include "lua/bind/bind.h"
#include "lua/traffic/workload.h"
#include "workload/statistics.h"

#define CURSOR_TYPE "blis.trace_cursor"

blis_trace_stream **push_trace_stream(lua_State *L) {
  blis_trace_stream **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  luaL_setmetatable(L, TRACE_STREAM_TYPE);
  return self;
}

blis_trace_stream *check_trace_stream(lua_State *L, int index) {
  blis_trace_stream **self = luaL_checkudata(L, index, TRACE_STREAM_TYPE);
  luaL_argcheck(L, *self != NULL, index, "the stream is empty");
  return *self;
}

static int stream_gc(lua_State *L) {
  blis_trace_stream **self = luaL_checkudata(L, 1, TRACE_STREAM_TYPE);
  blis_trace_stream_free(*self);
  *self = NULL;
  return 0;
}

blis_trace_options check_trace_options(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  return (blis_trace_options){
      .format = opt_field_string(L, index, "format"),
      .limit = opt_field_integer(L, index, "limit", 0),
      .hash_block_tokens = (uint32_t)opt_field_integer(L, index, "hash_block_tokens", 0),
      .header_path = opt_field_string(L, index, "header"),
      .keep_epoch = opt_field_boolean(L, index, "keep_epoch", false),
      .columns = opt_field_string(L, index, "columns"),
      .time_unit = opt_field_string(L, index, "time_unit"),
  };
}

int bind_trace_stream_new(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const blis_trace_options options = check_trace_options(L, 2);
  blis_trace_stream **self = push_trace_stream(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_stream_new(&alloc, path, &options, self, &error), &error);
  return 1;
}

int bind_trace_open(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const blis_trace_options options = check_trace_options(L, 2);
  blis_workload **list = push_workload(L);
  blis_trace_stream **stream = push_trace_stream(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_open(&alloc, path, &options, list, stream, &error), &error);
  if (*list != NULL) {
    lua_pop(L, 1);
  }
  return 1;
}

/* Pushes a cursor that reads the requests in order. */

blis_trace_cursor *push_trace_cursor(lua_State *L, blis_trace_stream *stream) {
  blis_trace_cursor **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  luaL_setmetatable(L, CURSOR_TYPE);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_cursor_open(&alloc, stream, self, &error), &error);
  return *self;
}

/* Closes the cursor; called as soon as a loop is left. */
static int cursor_close(lua_State *L) {
  blis_trace_cursor **self = luaL_checkudata(L, 1, CURSOR_TYPE);
  blis_trace_cursor_close(*self);
  *self = NULL;
  return 0;
}

/* Upvalues: the cursor and the stream. Control value: the previous number. */
static int next_request(lua_State *L) {
  blis_trace_cursor **cursor = lua_touserdata(L, lua_upvalueindex(1));
  blis_trace_stream *stream = check_trace_stream(L, lua_upvalueindex(2));
  lua_Integer index = luaL_checkinteger(L, 2);
  if (*cursor == NULL) {
    lua_pushnil(L);
    return 1;
  }
  blis_request request;
  bool done;
  blis_error error = {0};
  check_status(L, blis_trace_cursor_next(*cursor, &request, &done, &error), &error);
  if (done) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, index + 1);
  push_recorded_request(L, &request, blis_workload_strings(blis_trace_stream_about(stream)));
  return 2;
}

/* for i, request in stream:requests() do */
static int stream_requests(lua_State *L) {
  blis_trace_stream *stream = check_trace_stream(L, 1);
  lua_settop(L, 1);
  push_trace_cursor(L, stream); // [stream, cursor]
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, next_request, 2);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  lua_pushvalue(L, 2); // [.., next, stream, 0, to be closed]
  return 4;
}

/* stream:list(): returns the requests as a list in memory. */
static int stream_list(lua_State *L) {
  blis_trace_stream *stream = check_trace_stream(L, 1);
  blis_workload **list = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_stream_list(&alloc, stream, list, &error), &error);
  return 1;
}

/* stream:statistics([block_size]) */
static int stream_statistics(lua_State *L) {
  blis_trace_stream *stream = check_trace_stream(L, 1);
  uint32_t block_size = check_block_size(L);
  blis_trace_cursor *cursor = push_trace_cursor(L, stream);
  const blis_request_source source = blis_trace_cursor_source(cursor);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_workload_statistics measured;
  check_status(L, blis_source_measure(&alloc, &source, block_size, &measured, &error), &error);
  push_statistics(L, &measured, block_size);
  return 1;
}

static int stream_last_arrival_us(lua_State *L) {
  int64_t last_us;
  blis_error error = {0};
  check_status(L, blis_trace_stream_need_last_us(check_trace_stream(L, 1), &last_us, &error),
               &error);
  lua_pushinteger(L, last_us);
  return 1;
}

static int stream_goodput_targets(lua_State *L) {
  const blis_workload *about = blis_trace_stream_about(check_trace_stream(L, 1));
  push_goodput_targets(L, blis_workload_targets(about), blis_workload_target_count(about));
  return 1;
}

static int stream_notes(lua_State *L) {
  push_notes(L, blis_trace_stream_about(check_trace_stream(L, 1)));
  return 1;
}

static int stream_description(lua_State *L) {
  lua_pushstring(L, blis_trace_stream_description(check_trace_stream(L, 1)));
  return 1;
}

static int stream_len(lua_State *L) {
  int64_t count;
  blis_error error = {0};
  check_status(L, blis_trace_stream_need_count(check_trace_stream(L, 1), &count, &error), &error);
  lua_pushinteger(L, count);
  return 1;
}

/* stream.name is a method; access by number is not supported. */
static int stream_index(lua_State *L) {
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    return 1;
  }
  return luaL_error(L,
                    "a stream has no field '%s'; use stream:list() to index "
                    "requests by number",
                    luaL_tolstring(L, 2, NULL));
}

static const luaL_Reg stream_meta[] = {
    {"__gc", stream_gc},
    {"__len", stream_len},
    {NULL, NULL},
};

static const luaL_Reg stream_methods[] = {
    {"statistics", stream_statistics},
    {"requests", stream_requests},
    {"notes", stream_notes},
    {"goodput_targets", stream_goodput_targets},
    {"description", stream_description},
    {"last_arrival_us", stream_last_arrival_us},
    {"list", stream_list},
    {NULL, NULL},
};

static int cursor_tostring(lua_State *L) {
  blis_trace_cursor **self = luaL_checkudata(L, 1, CURSOR_TYPE);
  lua_pushstring(L, *self != NULL ? "requests of a stream" : "requests of a stream (closed)");
  return 1;
}

static const luaL_Reg cursor_meta[] = {
    {"__tostring", cursor_tostring},
    {"__gc", cursor_close},
    {"__close", cursor_close},
    {NULL, NULL},
};

int bind_stream_methods(lua_State *L) {
  luaL_getmetatable(L, TRACE_STREAM_TYPE);
  lua_getfield(L, -1, "methods");
  return 1;
}

void bind_open_trace_streams(lua_State *L) {
  push_new_type(L, CURSOR_TYPE, cursor_meta, NULL);
  lua_pop(L, 1);
  push_new_type(L, TRACE_STREAM_TYPE, stream_meta, NULL);
  luaL_newlib(L, stream_methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "methods");
  lua_pushcclosure(L, stream_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
