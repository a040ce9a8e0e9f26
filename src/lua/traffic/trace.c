/* Traces from files. */
#include "lua/traffic/trace.h"

#include "base/buffer.h"
#include "lua/bind/bind.h"
#include "lua/traffic/trace_stream.h"
#include "lua/traffic/workload.h"

int bind_trace_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const blis_trace_options options = check_trace_options(L, 2);
  blis_workload **self = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_read(&alloc, path, &options, self, &error), &error);
  return 1;
}

int bind_trace_explain(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const blis_trace_options options = check_trace_options(L, 2);
  blis_alloc alloc = bind_alloc(L);
  blis_buffer text;
  blis_buffer_init(&text, &alloc);
  blis_error error = {0};
  blis_status status = blis_trace_explain(&alloc, path, &options, &text, &error);
  if (status == BLIS_OK) {
    blis_slice bytes = blis_buffer_slice(&text);
    lua_pushlstring(L, bytes.data, bytes.length);
  }
  blis_buffer_deinit(&text);
  check_status(L, status, &error);
  return 1;
}

int bind_trace_formats(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < blis_trace_format_count(); i++) {
    lua_createtable(L, 0, 2);
    set_field_string(L, "name", blis_trace_format_name(i));
    set_field_string(L, "summary", blis_trace_format_text(i));
    set_printable(L);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_printable(L);
  return 1;
}
