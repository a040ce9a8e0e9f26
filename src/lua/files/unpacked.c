#include "lua/files/unpacked.h"

#include <lauxlib.h>

#include "base/buffer.h"
#include "base/format/input.h"
#include "lua/bind/bind.h"

enum { MAX_SIZE = 1 << 30 };

static int close_buffer(lua_State *L) {
  blis_buffer_deinit(lua_touserdata(L, 1));
  return 0;
}

int bind_unpacked(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  blis_buffer *text = push_guarded(L, 1, sizeof *text, close_buffer);
  blis_alloc alloc = bind_alloc(L);
  blis_buffer_init(text, &alloc);
  blis_error error = {0};
  check_status(L, blis_input_read_file(path, MAX_SIZE, text, &error), &error);
  blis_slice all = blis_buffer_slice(text);
  lua_pushlstring(L, all.data, all.length);
  blis_buffer_deinit(text);
  blis_buffer_init(text, &alloc);
  return 1;
}
