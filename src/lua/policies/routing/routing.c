#include "lua/policies/routing/routing.h"

#include <stdlib.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/builtin/builtin.h"
#include "lua/policies/routing/admission.h"
#include "lua/policies/routing/cascade.h"
#include "lua/policies/routing/filter.h"
#include "lua/policies/routing/replicas.h"
#include "lua/policies/routing/router.h"
#include "lua/policies/routing/scorer.h"
#include "lua/policies/view/fresh.h"
#include "policy/pipeline/weighted.h"

/* Parts of a pipeline that no router has taken yet. */
typedef struct pending_parts {
  size_t filter_count;
  blis_filter *filters; /* stored after the items */
  blis_picker picker;
  size_t count;
  blis_weighted_item items[];
} pending_parts;

static int pending_gc(lua_State *L) {
  pending_parts *pending = lua_touserdata(L, 1);
  for (size_t i = 0; i < pending->count; i++) {
    blis_scorer_free(&pending->items[i].scorer);
  }
  for (size_t i = 0; i < pending->filter_count; i++) {
    blis_filter_free(&pending->filters[i]);
  }
  blis_picker_free(&pending->picker);
  pending->count = 0;
  pending->filter_count = 0;
  return 0;
}

static void check_scorer(lua_State *L, int index, bind_view *view,
                         const blis_policy_context *context, blis_scorer *scorer) {
  if (is_scripted_policy(L, index, "score")) {
    check_scripted_scorer(L, index, view, scorer);
  } else {
    check_shown_scorer(L, index, view, context, scorer);
  }
}

static void check_filter(lua_State *L, int index, bind_view *view,
                         const blis_policy_context *context, blis_filter *filter) {
  if (is_scripted_policy(L, index, "keep")) {
    check_fresh_once(L, index, view);
    check_scripted_filter(L, index, view, filter);
  } else {
    check_builtin_filter(L, index, context, filter);
  }
}

static void check_picker(lua_State *L, int index, bind_view *view,
                         const blis_policy_context *context, blis_picker *picker) {
  if (is_scripted_policy(L, index, "pick")) {
    check_fresh_once(L, index, view);
    check_scripted_picker(L, index, view, picker);
  } else {
    check_builtin_picker(L, index, context, picker);
  }
}

static void check_items(lua_State *L, int scorers, bind_view *view,
                        const blis_policy_context *context, pending_parts *pending) {
  size_t count = lua_rawlen(L, scorers);
  for (size_t i = 0; i < count; i++) {
    blis_weighted_item *item = &pending->items[i];
    lua_rawgeti(L, scorers, (lua_Integer)i + 1);
    item->weight = check_field_number(L, -1, "weight");
    lua_getfield(L, -1, "scorer");
    check_scorer(L, lua_gettop(L), view, context, &item->scorer);
    pending->count++;
    lua_pop(L, 2);
  }
}

static void check_filters(lua_State *L, int filters, bind_view *view,
                          const blis_policy_context *context, pending_parts *pending) {
  size_t count = lua_istable(L, filters) ? lua_rawlen(L, filters) : 0;
  for (size_t i = 0; i < count; i++) {
    int top = lua_gettop(L);
    lua_rawgeti(L, filters, (lua_Integer)i + 1);
    check_filter(L, top + 1, view, context, &pending->filters[i]);
    pending->filter_count++;
    lua_settop(L, top);
  }
}

/*
 * Creates a weighted router from definition.scorers = {{scorer =, weight =}, ...},
 * definition.filters = {...}, and definition.picker. The last two may be nil.
 */
static void check_weighted(lua_State *L, int index, int scorers, bind_view *view,
                           const blis_policy_context *context, blis_router *router) {
  blis_params params = push_params(L, index);
  view->missing_is_zero = opt_field_boolean(L, index, "missing_is_zero", false);
  lua_getfield(L, index, "filters");
  int filters = lua_gettop(L);
  size_t room = lua_istable(L, filters) ? lua_rawlen(L, filters) : 0;
  size_t items = lua_rawlen(L, scorers) * sizeof(blis_weighted_item);
  pending_parts *pending =
      push_guarded(L, 1, sizeof *pending + items + room * sizeof(blis_filter), pending_gc);
  pending->filters = (blis_filter *)(void *)((char *)pending->items + items);
  check_items(L, scorers, view, context, pending);
  check_filters(L, filters, view, context, pending);
  if (lua_getfield(L, index, "picker") != LUA_TNIL) {
    check_picker(L, lua_gettop(L), view, context, &pending->picker);
  }
  const blis_weighted_parts parts = {.filters = pending->filters,
                                     .filter_count = pending->filter_count,
                                     .items = pending->items,
                                     .count = pending->count,
                                     .picker =
                                         pending->picker.ops == NULL ? NULL : &pending->picker};
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  pending->count = 0; /* the router takes ownership even on failure */
  pending->filter_count = 0;
  blis_status status = blis_weighted_new(&alloc, &parts, &params, context, router, &error);
  pending->picker = (blis_picker){0};
  check_status(L, status, &error);
}

void check_router(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                  blis_router *router) {
  int top = lua_gettop(L);
  luaL_checktype(L, index, LUA_TTABLE);
  if (has_replicas(L, index)) {
    check_replicas(L, index, view, context, check_router, router);
  } else if (is_scripted_policy(L, index, "route")) {
    check_fresh_once(L, index, view);
    check_scripted_router(L, index, view, router);
  } else if (lua_getfield(L, index, "scorers") != LUA_TNIL) {
    check_weighted(L, index, lua_gettop(L), view, context, router);
  } else {
    check_builtin_router(L, index, context, router);
  }
  lua_settop(L, top);
}

void check_admission(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                     blis_admission *admission) {
  luaL_checktype(L, index, LUA_TTABLE);
  if (is_scripted_policy(L, index, "decide")) {
    check_fresh(L, index, context);
    check_scripted_admission(L, index, view, admission);
  } else {
    check_builtin_admission(L, index, context, admission);
  }
}

void check_cascade(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                   blis_cascade *cascade) {
  luaL_checktype(L, index, LUA_TTABLE);
  check_builtin_cascade(L, index, context, cascade);
  if (cascade->ops != NULL) {
    check_fresh(L, index, context);
    check_scripted_cascade(L, index, view, context->seed, cascade);
  }
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const blis_param *)a)->name, ((const blis_param *)b)->name);
}

blis_params check_changes(lua_State *L, int index) {
  enum { CHANGES_MAX = 32 };
  luaL_checktype(L, index, LUA_TTABLE);
  blis_param *items = push_buffer(L, CHANGES_MAX, sizeof *items);
  blis_params params = {items, 0};
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING, index, "expected { parameter = value, ... }");
    luaL_argcheck(L, params.count < CHANGES_MAX, index, "too many parameters");
    blis_param *item = &items[params.count++];
    *item = (blis_param){.name = lua_tostring(L, -2)};
    if (lua_type(L, -1) == LUA_TSTRING) {
      item->text = lua_tostring(L, -1); /* the table keeps it */
    } else if (lua_isboolean(L, -1)) {
      item->number = lua_toboolean(L, -1);
    } else {
      item->number = luaL_checknumber(L, -1);
    }
    lua_pop(L, 1);
  }
  qsort(items, params.count, sizeof *items, compare_names);
  return params;
}
