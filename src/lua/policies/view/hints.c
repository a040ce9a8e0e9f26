#include "lua/policies/view/hints.h"

#include "lua/bind/hook.h"

/* Maximum nesting depth of hints that are copied. */
enum { DEPTH_MAX = 8 };

static bool is_plain(lua_State *L, int index) {
  int type = lua_type(L, index);
  return type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN;
}

/* Pushes a copy of the table at index, without values that are neither plain nor tables. */
static void push_copy(lua_State *L, int index, int depth) {
  luaL_checkstack(L, 6, "hints");
  lua_newtable(L);
  int copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if (is_plain(L, copy + 1) && (is_plain(L, -1) || (lua_istable(L, -1) && depth < DEPTH_MAX))) {
      lua_pushvalue(L, copy + 1);
      if (lua_istable(L, copy + 2)) {
        push_copy(L, copy + 2, depth + 1);
      } else {
        lua_pushvalue(L, copy + 2);
      }
      lua_rawset(L, copy);
    }
    lua_settop(L, copy + 1);
  }
}

void push_hints_copy(lua_State *L, const bind_view *view, int index) {
  if (view->hooks->sandbox != NULL && lua_istable(L, index)) {
    push_copy(L, lua_absindex(L, index), 1);
  } else {
    lua_pushvalue(L, index);
  }
}

void push_hints(lua_State *L, const bind_view *view, uint32_t slot) {
  if (!view->has_hints) {
    lua_pushnil(L);
    return;
  }
  bind_hooks_anchor(L, view->hooks);
  lua_rawgeti(L, -1, ANCHOR_HINTS);
  lua_rawgeti(L, -1, (lua_Integer)slot + 1);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

void set_hints(lua_State *L, bind_view *view, uint32_t slot) {
  if (lua_isnil(L, -1) && !view->has_hints) {
    lua_pop(L, 1);
    return;
  }
  push_hints_copy(L, view, -1);
  lua_replace(L, -2);
  int hints = lua_gettop(L);
  bind_hooks_anchor(L, view->hooks);
  if (!view->has_hints) {
    lua_newtable(L);
    lua_rawseti(L, -2, ANCHOR_HINTS);
    view->has_hints = true;
  }
  lua_rawgeti(L, -1, ANCHOR_HINTS);
  lua_pushvalue(L, hints);
  lua_rawseti(L, -2, (lua_Integer)slot + 1);
  lua_settop(L, hints - 1);
}
