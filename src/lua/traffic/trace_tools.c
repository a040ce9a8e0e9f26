#include "lua/traffic/trace_tools.h"

#include "lua/bind/bind.h"
#include "lua/traffic/trace_stream.h"
#include "lua/traffic/workload.h"
#include "workload/trace/tools.h"
#include "workload/trace/write.h"

static bool is_stream(lua_State *L) {
  return luaL_testudata(L, 1, TRACE_STREAM_TYPE) != NULL;
}

int bind_trace_cut(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  const blis_trace_cut_options options = {
      .start_us = opt_field_integer(L, 2, "start_us", 0),
      .end_us = opt_field_integer(L, 2, "end_us", 0),
      .skip = opt_field_integer(L, 2, "skip", 0),
      .limit = opt_field_integer(L, 2, "limit", 0),
      .from_zero = opt_field_boolean(L, 2, "from_zero", false),
  };
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status;
  if (is_stream(L)) {
    blis_trace_stream *stream = check_trace_stream(L, 1);
    status =
        blis_trace_stream_cut(stream, &options, push_trace_stream(L), &error);
  } else {
    const blis_workload *list = check_workload(L, 1);
    status = blis_trace_cut(&alloc, list, &options, push_workload(L), &error);
  }
  check_status(L, status, &error);
  return 1;
}

int bind_trace_scale(lua_State *L) {
  double factor = luaL_checknumber(L, 2);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status;
  if (is_stream(L)) {
    blis_trace_stream *stream = check_trace_stream(L, 1);
    status =
        blis_trace_stream_scale(stream, factor, push_trace_stream(L), &error);
  } else {
    const blis_workload *list = check_workload(L, 1);
    status = blis_trace_scale(&alloc, list, factor, push_workload(L), &error);
  }
  check_status(L, status, &error);
  return 1;
}

static int64_t check_item_integer(lua_State *L, int index, lua_Integer i) {
  lua_rawgeti(L, index, i);
  int64_t value = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return value;
}

/* trace_warp(list, {{from_us, to_us}, ...}) */
int bind_trace_warp(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count = lua_rawlen(L, 2);
  blis_trace_warp_point *points = push_buffer(L, count, sizeof *points);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    int point = lua_gettop(L);
    points[i] =
        (blis_trace_warp_point){.from_us = check_item_integer(L, point, 1),
                                .to_us = check_item_integer(L, point, 2)};
    lua_pop(L, 1);
  }
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status;
  if (is_stream(L)) {
    blis_trace_stream *stream = check_trace_stream(L, 1);
    status = blis_trace_stream_warp(stream, points, count, push_trace_stream(L),
                                    &error);
  } else {
    const blis_workload *list = check_workload(L, 1);
    status =
        blis_trace_warp(&alloc, list, points, count, push_workload(L), &error);
  }
  check_status(L, status, &error);
  return 1;
}

int bind_trace_cap(lua_State *L) {
  const blis_workload *list = check_workload(L, 1);
  lua_Integer max_turns = luaL_checkinteger(L, 2);
  blis_workload **made = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_cap(&alloc, list, max_turns, made, &error),
               &error);
  return 1;
}

static bool is_marked(void *state, const blis_workload *workload,
                      size_t index) {
  (void)workload;
  const bool *marks = state;
  return marks[index];
}

/* Whether the function at index 2 is true for a request. */
static bool ask_filter(lua_State *L, const blis_request *request,
                       const blis_intern *strings) {
  lua_pushvalue(L, 2);
  push_recorded_request(L, request, strings);
  lua_call(L, 1, 1);
  bool is_kept = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_kept;
}

/* A bit for every request: what Lua says is the same in every pass. */
static int filter_stream(lua_State *L) {
  blis_trace_stream *stream = check_trace_stream(L, 1);
  const blis_intern *strings =
      blis_workload_strings(blis_trace_stream_about(stream));
  blis_error error = {0};
  int64_t count;
  check_status(L, blis_trace_stream_need_count(stream, &count, &error), &error);
  uint64_t *marks =
      push_buffer(L, blis_trace_mark_words((size_t)count), sizeof *marks);
  blis_trace_cursor *cursor = push_trace_cursor(L, stream);
  for (int64_t i = 0; i < count; i++) {
    blis_request request;
    bool done = false;
    check_status(L, blis_trace_cursor_next(cursor, &request, &done, &error),
                 &error);
    if (!done && ask_filter(L, &request, strings)) {
      blis_trace_mark(marks, (size_t)i);
    }
  }
  check_status(
      L, blis_trace_stream_filter(stream, marks, push_trace_stream(L), &error),
      &error);
  return 1;
}

/* Lua is asked before anything is made: what it raises needs no tidying. */
int bind_trace_filter(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (is_stream(L)) {
    return filter_stream(L);
  }
  const blis_workload *list = check_workload(L, 1);
  size_t count = blis_workload_count(list);
  bool *marks = push_buffer(L, count, sizeof *marks);
  for (size_t i = 0; i < count; i++) {
    marks[i] = ask_filter(L, blis_workload_request(list, i),
                          blis_workload_strings(list));
  }
  blis_workload **made = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L,
               blis_trace_filter(&alloc, list, is_marked, marks, made, &error),
               &error);
  return 1;
}

int bind_trace_merge(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  bool same_content = lua_toboolean(L, 2);
  size_t count = lua_rawlen(L, 1);
  const blis_workload **lists = push_buffer(L, count, sizeof *lists);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    lists[i] = check_workload(L, -1);
    lua_pop(L, 1); /* the table keeps it */
  }
  blis_workload **made = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(
      L, blis_trace_merge(&alloc, lists, count, same_content, made, &error),
      &error);
  return 1;
}

int bind_trace_write(lua_State *L) {
  const char *path = luaL_checkstring(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  const blis_trace_write_options options = {
      .format = opt_field_string(L, 3, "format"),
      .renumber = opt_field_boolean(L, 3, "renumber", false),
      .needs_requests = true,
  };
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status =
      is_stream(L)
          ? blis_trace_stream_write(&alloc, path, check_trace_stream(L, 1),
                                    &options, &error)
          : blis_trace_write(&alloc, path, check_workload(L, 1), &options,
                             &error);
  check_status(L, status, &error);
  return 0;
}

int bind_trace_write_formats(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < blis_trace_write_format_count(); i++) {
    lua_pushstring(L, blis_trace_write_format_name(i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
