#include "lua/policies/routing/score_loop.h"

#include <lauxlib.h>

#include "lua/bind/hook.h"
#include "lua/bind/traceback.h"

static int index_of(size_t first, size_t k) {
  return (int)(first + k + 1);
}

/* return score(request, instances[1]), (score(request, instances[2])) */
static void add_calls(lua_State *L, luaL_Buffer *text, size_t first, size_t count) {
  luaL_addstring(text, "return function(score, request, instances) return ");
  for (size_t k = 0; k < count; k++) {
    lua_pushfstring(L, "(score(request, instances[%d]))%s", index_of(first, k),
                    k + 1 < count ? "," : " end");
    luaL_addvalue(text);
  }
}

static void add_calls_with_base(lua_State *L, luaL_Buffer *text, size_t first, size_t count) {
  luaL_addstring(text, "return function(score, request, instances, scores) ");
  for (size_t k = 0; k < count; k++) {
    int i = index_of(first, k);
    lua_pushfstring(L, "scores[%d] = score(request, instances[%d], scores[%d])", i, i, i);
    luaL_addvalue(text);
    luaL_addstring(text, k + 1 < count ? "; " : " end");
  }
}

/* local a1, a2 = scores[1], scores[2]; scores[1], ... = false, ...; return */
static void add_reads(lua_State *L, luaL_Buffer *text, size_t first, size_t count) {
  static const struct {
    const char *before, *item;
  } parts[] = {{"return function(scores) local ", "a%d"},
               {" = ", "scores[%d]"},
               {"; ", "scores[%d]"},
               {" = ", "false"},
               {"; return ", "a%d"}};
  for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
    luaL_addstring(text, parts[p].before);
    for (size_t k = 0; k < count; k++) {
      luaL_addstring(text, k == 0 ? "" : ", ");
      lua_pushfstring(L, parts[p].item, index_of(first, k));
      luaL_addvalue(text);
    }
  }
  luaL_addstring(text, " end");
}

static void push_new_loop(lua_State *L, score_loop loop, size_t first, size_t count) {
  typedef void add(lua_State * L, luaL_Buffer * text, size_t first, size_t count);
  static add *const writers[] = {
      [LOOP_CALL] = add_calls, [LOOP_WITH_BASE] = add_calls_with_base, [LOOP_TAKE] = add_reads};
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  writers[loop](L, &text, first, count);
  luaL_pushresult(&text);
  size_t length;
  const char *source = lua_tolstring(L, -1, &length);
  if (luaL_loadbufferx(L, source, length, BIND_GENERATED_CHUNK, "t") != LUA_OK) {
    lua_error(L); /* out of memory */
  }
  lua_call(L, 0, 1);
  lua_remove(L, -2);
}

void push_score_loops(lua_State *L, int anchor) {
  for (int loop = LOOP_CALL; loop <= LOOP_TAKE; loop++) {
    lua_newtable(L);
    lua_rawseti(L, anchor, ANCHOR_LOOPS + loop);
  }
}

void push_score_loop(lua_State *L, int anchor, score_loop loop, size_t first, size_t count) {
  lua_Integer key = (lua_Integer)(first + count); /* first is a multiple of the chunk size */
  lua_rawgeti(L, anchor, ANCHOR_LOOPS + (int)loop);
  if (lua_rawgeti(L, -1, key) == LUA_TNIL) {
    lua_pop(L, 1);
    push_new_loop(L, loop, first, count);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, key);
  }
  lua_remove(L, -2);
}
