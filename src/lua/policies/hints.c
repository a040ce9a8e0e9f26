#include "lua/policies/hints.h"

#include "lua/bind/hook.h"

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
