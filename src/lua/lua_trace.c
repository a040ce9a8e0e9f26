/* Traces from files. */
#include "lua/lua_trace.h"

#include "lua/bind.h"
#include "lua/lua_workload.h"
#include "workload/trace.h"

int bind_trace_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  const blis_trace_options options = {
      .format = opt_field_string(L, 2, "format"),
      .limit = opt_field_integer(L, 2, "limit", 0),
      .hash_block_tokens =
          (uint32_t)opt_field_integer(L, 2, "hash_block_tokens", 0),
      .header_path = opt_field_string(L, 2, "header"),
      .keep_epoch = opt_field_boolean(L, 2, "keep_epoch", false),
  };
  blis_workload **self = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_read(&alloc, path, &options, self, &error),
               &error);
  return 1;
}

int bind_trace_formats(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < blis_trace_format_count(); i++) {
    lua_createtable(L, 0, 2);
    set_field_string(L, "name", blis_trace_format_name(i));
    set_field_string(L, "summary", blis_trace_format_text(i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
