/* The `cluster` table of admission policies. */
#include <string.h>

#include "base/nearest.h"
#include "lua/bind/bind.h"
#include "lua/policies/view/view.h"

typedef enum fold { FOLD_MEAN, FOLD_SUM, FOLD_MIN, FOLD_MAX } fold;

static const struct {
  const char *prefix;
  fold fold;
} folds[] = {{"mean_", FOLD_MEAN}, {"sum_", FOLD_SUM}, {"min_", FOLD_MIN}, {"max_", FOLD_MAX}};

enum { FOLD_COUNT = sizeof folds / sizeof *folds };

static double fold_column(const double *column, size_t count, fold how) {
  if (count == 0) {
    return 0; /* an admission decision while no instance serves the request's model */
  }
  double result = how == FOLD_MIN || how == FOLD_MAX ? column[0] : 0;
  for (size_t i = 0; i < count; i++) {
    double value = column[i];
    if (how == FOLD_MIN) {
      result = value < result ? value : result;
    } else if (how == FOLD_MAX) {
      result = value > result ? value : result;
    } else {
      result += value;
    }
  }
  return how == FOLD_MEAN ? result / (double)count : result;
}

static int raise_unknown(lua_State *L, const char *name, const char *rest) {
  blis_nearest nearest = {.wanted = rest};
  for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
    blis_nearest_offer(&nearest, blis_signal_name((blis_signal)i));
  }
  return luaL_error(L,
                    "the cluster has no field '%s'; it has instances, now_us "
                    "and mean_, sum_, min_ or max_ with a signal%s%s",
                    name, nearest.word == NULL ? "" : " such as ",
                    nearest.word == NULL ? "" : nearest.word);
}

/* Checks a signal under strict locality: admission sees only the router's own counts. */
static void check_is_global(lua_State *L, const bind_view *view, const char *name,
                            blis_signal signal) {
  const blis_signal_set global =
      BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_REQUESTS);
  if (view->is_strict && (BLIS_SIGNAL_BIT(signal) & global) == 0) {
    luaL_error(L,
               "admission sees no '%s' with locality = 'strict'; it sees "
               "sum_in_flight, and the request with tenant_active, tenant_rate "
               "and request_rate",
               name);
  }
}

static int push_folded(lua_State *L, bind_view *view, const char *name) {
  const char *rest = name;
  for (int i = 0; i < FOLD_COUNT; i++) {
    size_t length = strlen(folds[i].prefix);
    if (strncmp(name, folds[i].prefix, length) == 0) {
      rest = name + length;
      blis_signal signal = blis_signal_find(rest);
      if (signal != BLIS_SIGNAL_COUNT) {
        check_is_global(L, view, name, signal);
        const double *column = check_view_column(L, view, signal);
        lua_pushnumber(L, fold_column(column, view->view->count, folds[i].fold));
        return 1;
      }
    }
  }
  return raise_unknown(L, name, rest);
}

static int cluster_index(lua_State *L) {
  bind_view *view = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = luaL_checkstring(L, 2);
  if (view->view == NULL) {
    return luaL_error(L, "the cluster can be read only during a decision");
  }
  if (strcmp(name, "now_us") == 0) {
    lua_pushinteger(L, bind_alias_us(&view->hooks->alias, view->view->now_us));
    return 1;
  }
  if (strcmp(name, "instances") == 0 && view->is_strict) {
    return luaL_error(L, "admission sees no instances with locality = "
                         "'strict'; oracle = true shows them");
  }
  if (strcmp(name, "instances") == 0) {
    bind_hooks_anchor(L, view->hooks);
    push_view_candidates(L, view, lua_gettop(L));
    return 1;
  }
  return push_folded(L, view, name);
}

void push_cluster_table(lua_State *L, bind_view *view) {
  lua_newtable(L);
  lua_createtable(L, 0, 2);
  lua_pushlightuserdata(L, view);
  lua_pushcclosure(L, cluster_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}
