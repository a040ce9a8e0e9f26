#include "lua/traffic/trace_tools.h"

#include "lua/bind/bind.h"
#include "lua/traffic/trace_stream.h"
#include "lua/traffic/workload.h"
#include "workload/trace/tools/tools.h"
#include "workload/trace/write/write.h"

static bool is_stream(lua_State *L) {
  return luaL_testudata(L, 1, TRACE_STREAM_TYPE) != NULL;
}

/* Pushes an edited copy of the list or stream at index 1. */
static int push_edited(lua_State *L, const blis_trace_edit *edit) {
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status;
  if (is_stream(L)) {
    blis_trace_stream *stream = check_trace_stream(L, 1);
    status = blis_trace_stream_apply(stream, edit, push_trace_stream(L), &error);
  } else {
    const blis_workload *list = check_workload(L, 1);
    status = blis_trace_apply(&alloc, list, edit, push_workload(L), &error);
  }
  check_status(L, status, &error);
  return 1;
}

int bind_trace_cut(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  const blis_trace_edit edit = {.kind = BLIS_TRACE_CUT,
                                .cut = {.start_us = opt_field_integer(L, 2, "start_us", 0),
                                        .end_us = opt_field_integer(L, 2, "end_us", 0),
                                        .skip = opt_field_integer(L, 2, "skip", 0),
                                        .limit = opt_field_integer(L, 2, "limit", 0),
                                        .from_zero = opt_field_boolean(L, 2, "from_zero", false)}};
  return push_edited(L, &edit);
}

int bind_trace_scale(lua_State *L) {
  const blis_trace_edit edit = {.kind = BLIS_TRACE_SCALE, .factor = luaL_checknumber(L, 2)};
  return push_edited(L, &edit);
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
    points[i] = (blis_trace_warp_point){.from_us = check_item_integer(L, point, 1),
                                        .to_us = check_item_integer(L, point, 2)};
    lua_pop(L, 1);
  }
  const blis_trace_edit edit = {.kind = BLIS_TRACE_WARP, .points = points, .point_count = count};
  return push_edited(L, &edit);
}

int bind_trace_cap(lua_State *L) {
  const blis_workload *list = check_workload(L, 1);
  lua_Integer max_turns = luaL_checkinteger(L, 2);
  blis_workload **made = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_cap(&alloc, list, max_turns, made, &error), &error);
  return 1;
}

/* Returns whether the function at index 2 is true for a request. */
static bool ask_filter(lua_State *L, const blis_request *request, const blis_intern *strings) {
  lua_pushvalue(L, 2);
  push_recorded_request(L, request, strings);
  lua_call(L, 1, 1);
  bool is_kept = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_kept;
}

static void mark_stream(lua_State *L, blis_trace_stream *stream, int64_t count, uint64_t *marks) {
  const blis_intern *strings = blis_workload_strings(blis_trace_stream_about(stream));
  blis_trace_cursor *cursor = push_trace_cursor(L, stream);
  for (int64_t i = 0; i < count; i++) {
    blis_request request;
    bool done = false;
    blis_error error = {0};
    check_status(L, blis_trace_cursor_next(cursor, &request, &done, &error), &error);
    if (!done && ask_filter(L, &request, strings)) {
      blis_trace_mark(marks, (size_t)i);
    }
  }
}

static void mark_list(lua_State *L, const blis_workload *list, uint64_t *marks) {
  for (size_t i = 0; i < blis_workload_count(list); i++) {
    if (ask_filter(L, blis_workload_request(list, i), blis_workload_strings(list))) {
      blis_trace_mark(marks, i);
    }
  }
}

/*
 * Computes a bit for every request, so that all passes use the same results of the Lua function.
 * Lua is called before anything is allocated, so its errors require no cleanup.
 */
int bind_trace_filter(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  blis_trace_stream *stream = is_stream(L) ? check_trace_stream(L, 1) : NULL;
  const blis_workload *list = stream == NULL ? check_workload(L, 1) : NULL;
  blis_error error = {0};
  int64_t count;
  if (stream != NULL) {
    check_status(L, blis_trace_stream_need_count(stream, &count, &error), &error);
  } else {
    count = (int64_t)blis_workload_count(list);
  }
  uint64_t *marks = push_buffer(L, blis_trace_mark_words((size_t)count), sizeof *marks);
  if (stream != NULL) {
    mark_stream(L, stream, count, marks);
  } else {
    mark_list(L, list, marks);
  }
  const blis_trace_edit edit = {.kind = BLIS_TRACE_FILTER, .marks = marks};
  return push_edited(L, &edit);
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
  check_status(L, blis_trace_merge(&alloc, lists, count, same_content, made, &error), &error);
  return 1;
}

int bind_trace_write(lua_State *L) {
  const char *path = luaL_checkstring(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  const blis_workload *about =
      is_stream(L) ? blis_trace_stream_about(check_trace_stream(L, 1)) : check_workload(L, 1);
  const blis_trace_write_options options = {
      .format = opt_field_string(L, 3, "format"),
      .renumber = opt_field_boolean(L, 3, "renumber", false),
      .needs_requests = true,
      .targets = blis_workload_targets(about),
      .target_count = blis_workload_target_count(about),
  };
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status =
      is_stream(L)
          ? blis_trace_stream_write(&alloc, path, check_trace_stream(L, 1), &options, &error)
          : blis_trace_write(&alloc, path, check_workload(L, 1), &options, &error);
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
