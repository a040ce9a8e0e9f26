#include "lua/traffic/content.h"

#include "lua/bind/bind.h"
#include "workload/workload.h"

static uint32_t check_tokens(lua_State *L, int index) {
  int is_integer = 0;
  lua_Integer tokens = lua_tointegerx(L, index, &is_integer);
  if (!is_integer || tokens < 0 || tokens > BLIS_WORKLOAD_MAX_TOKENS) {
    luaL_error(L, "a number of tokens must be an integer from 0 to %d, got %s",
               BLIS_WORKLOAD_MAX_TOKENS, push_what(L, index));
  }
  return (uint32_t)tokens;
}

static void add_tokens(lua_State *L, blis_request *request, uint32_t tokens) {
  if (tokens > BLIS_WORKLOAD_MAX_TOKENS - request->prompt_tokens) {
    luaL_error(L, "a prompt has at most %d tokens", BLIS_WORKLOAD_MAX_TOKENS);
  }
  request->prompt_tokens += tokens;
}

/* Reads {name, tokens} on top of the stack. */
static void check_segment(lua_State *L, const bind_content_names *names, blis_request *request,
                          blis_segment *segment) {
  int table = lua_gettop(L);
  lua_rawgeti(L, table, 1);
  lua_rawgeti(L, table, 2);
  int type = lua_type(L, table + 1);
  if (type != LUA_TSTRING && type != LUA_TNUMBER) {
    luaL_error(L, "the name of content must be a string or a number, got %s",
               push_what(L, table + 1));
  }
  size_t length = 0;
  const char *name = luaL_tolstring(L, table + 1, &length);
  uint32_t stream = 0;
  check_status(L, names->add(names->ud, name, length, &stream), NULL);
  *segment = (blis_segment){.stream = stream, .length_tokens = check_tokens(L, table + 2)};
  add_tokens(L, request, segment->length_tokens);
  request->shared_tokens += segment->length_tokens;
  lua_settop(L, table);
}

/* Checks that a table without items is empty, because named fields would be ignored. */
static void check_is_empty(lua_State *L, int index) {
  lua_pushnil(L);
  if (lua_next(L, index) != 0) {
    luaL_error(L, "a prompt is a number of tokens or a list { { name, tokens "
                  "}, ..., tokens }, got a table with names as keys");
  }
}

blis_request push_content(lua_State *L, int index, const bind_content_names *names) {
  blis_request request = {0};
  if (lua_type(L, index) == LUA_TNUMBER) {
    request.prompt_tokens = check_tokens(L, index);
    lua_pushnil(L);
    return request;
  }
  luaL_checktype(L, index, LUA_TTABLE);
  size_t count = lua_rawlen(L, index);
  if (count == 0) {
    check_is_empty(L, index);
  }
  luaL_argcheck(L, count <= UINT32_MAX, index, "too many parts");
  blis_segment *segments = push_buffer(L, count, sizeof *segments);
  request.segments = segments;
  for (size_t i = 0; i < count; i++) {
    if (lua_rawgeti(L, index, (lua_Integer)i + 1) == LUA_TTABLE) {
      check_segment(L, names, &request, &segments[request.segment_count++]);
    } else if (i + 1 < count) {
      luaL_error(L, "part %I of the prompt: private tokens must come last", (LUAI_UACINT)i + 1);
    } else {
      add_tokens(L, &request, check_tokens(L, -1));
    }
    lua_pop(L, 1);
  }
  return request;
}
