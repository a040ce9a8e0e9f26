#include "lua/lua_routing.h"

#include "lua/bind.h"
#include "lua/lua_admission.h"
#include "lua/lua_router.h"
#include "lua/lua_scorer.h"
#include "routing/registry.h"
#include "routing/weighted.h"

/* Scorers that no router has taken yet. */
typedef struct pending_items {
  size_t count;
  blis_weighted_item items[];
} pending_items;

static int pending_gc(lua_State *L) {
  pending_items *pending = lua_touserdata(L, 1);
  for (size_t i = 0; i < pending->count; i++) {
    blis_scorer_free(&pending->items[i].scorer);
  }
  pending->count = 0;
  return 0;
}

/* definition.parameters: {{name =, value =}, ...}; kept on the stack. */
static blis_params push_params(lua_State *L, int index) {
  lua_getfield(L, index, "parameters");
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  blis_params params = {.count = lua_rawlen(L, list)};
  blis_param *items = push_buffer(L, params.count, sizeof *items);
  for (size_t i = 0; i < params.count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    items[i].name = check_field_string(L, -1, "name");
    int type = lua_getfield(L, -1, "value");
    if (type == LUA_TSTRING) {
      items[i].text = lua_tostring(L, -1); /* the definition keeps it */
    } else if (type == LUA_TBOOLEAN) {
      items[i].number = lua_toboolean(L, -1);
    } else {
      items[i].number = luaL_checknumber(L, -1);
    }
    lua_pop(L, 2);
  }
  params.items = items;
  return params;
}

static void check_scorer(lua_State *L, int index, bind_view *view,
                         const blis_policy_context *context,
                         blis_scorer *scorer) {
  bool is_scripted = lua_getfield(L, index, "score") != LUA_TNIL;
  lua_pop(L, 1);
  if (is_scripted) {
    check_lua_scorer(L, index, view, scorer);
    return;
  }
  check_builtin_scorer(L, index, context, scorer);
}

void check_builtin_scorer(lua_State *L, int index,
                          const blis_policy_context *context,
                          blis_scorer *scorer) {
  int top = lua_gettop(L);
  const char *name = check_field_string(L, index, "name");
  blis_params params = push_params(L, index);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(
      L, blis_scorer_create(&alloc, name, &params, context, scorer, &error),
      &error);
  lua_settop(L, top);
}

/* A weighted router of definition.scorers: {{scorer =, weight =}, ...}. */
static void check_weighted(lua_State *L, int index, int scorers,
                           bind_view *view, const blis_policy_context *context,
                           blis_router *router) {
  blis_params params = push_params(L, index);
  size_t count = lua_rawlen(L, scorers);
  pending_items *pending = push_guarded(
      L, 1, sizeof *pending + count * sizeof(blis_weighted_item), pending_gc);
  for (size_t i = 0; i < count; i++) {
    blis_weighted_item *item = &pending->items[i];
    lua_rawgeti(L, scorers, (lua_Integer)i + 1);
    item->weight = check_field_number(L, -1, "weight");
    lua_getfield(L, -1, "scorer");
    check_scorer(L, lua_gettop(L), view, context, &item->scorer);
    pending->count++;
    lua_pop(L, 2);
  }
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  pending->count = 0; /* the router takes them, come what may */
  const blis_weighted_parts parts = {.items = pending->items, .count = count};
  check_status(
      L, blis_weighted_new(&alloc, &parts, &params, context, router, &error),
      &error);
}

void check_router(lua_State *L, int index, bind_view *view,
                  const blis_policy_context *context, blis_router *router) {
  int top = lua_gettop(L);
  luaL_checktype(L, index, LUA_TTABLE);
  if (lua_getfield(L, index, "route") != LUA_TNIL) {
    check_lua_router(L, index, view, router);
  } else if (lua_getfield(L, index, "scorers") != LUA_TNIL) {
    check_weighted(L, index, lua_gettop(L), view, context, router);
  } else {
    blis_alloc alloc = bind_alloc(L);
    blis_error error = {0};
    const char *name = check_field_string(L, index, "name");
    blis_params params = push_params(L, index);
    check_status(
        L, blis_router_create(&alloc, name, &params, context, router, &error),
        &error);
  }
  lua_settop(L, top);
}

void check_admission(lua_State *L, int index, bind_view *view,
                     const blis_policy_context *context,
                     blis_admission *admission) {
  if (lua_isfunction(L, index)) {
    check_lua_admission(L, index, view, admission);
    return;
  }
  int top = lua_gettop(L);
  luaL_checktype(L, index, LUA_TTABLE);
  const char *name = check_field_string(L, index, "name");
  blis_params params = push_params(L, index);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(
      L,
      blis_admission_create(&alloc, name, &params, context, admission, &error),
      &error);
  lua_settop(L, top);
}
