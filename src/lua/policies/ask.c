#include "lua/policies/ask.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/policy.h"
#include "lua/policies/scorer.h"

/* Is the value at index the one at that place of the anchor? */
static bool is_anchored(lua_State *L, int index, int anchor, int place) {
  lua_rawgeti(L, anchor, place);
  bool is_same = lua_rawequal(L, index, -1) != 0;
  lua_pop(L, 1);
  return is_same;
}

/* The scorer at index 1 in this decision; pushes the anchor. */
static bind_scorer *check_question(lua_State *L) {
  bind_view *view = bind_vector_pool_of(L)->view;
  push_policy_definition(L, 1, "scorer");
  int definition = lua_gettop(L);
  if (view == NULL || view->view == NULL) {
    luaL_error(L, "a scorer can be asked only while a decision about a request "
                  "is being taken");
    return NULL;
  }
  bind_hooks_anchor(L, view->hooks);
  luaL_argcheck(L, lua_topointer(L, 2) == view->request_table, 2,
                "expected the request that the policy was called with");
  bind_scorer *scorer = check_view_scorer(L, definition, view);
  lua_replace(L, definition); /* the anchor is on top */
  return scorer;
}

/* The place among the candidates of the instance table at index. */
static size_t check_candidate(lua_State *L, int index, const bind_view *view) {
  lua_Integer number = 0;
  if (lua_type(L, index) == LUA_TTABLE) {
    lua_pushliteral(L, "index");
    lua_rawget(L, index);
    number = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  size_t candidate =
      number < 1 ? view->view->count
                 : blis_routing_view_find(view->view, (uint32_t)(number - 1));
  if (candidate == view->view->count) {
    luaL_error(L, "expected a candidate of this decision, got %s",
               number < 1 ? luaL_typename(L, index) : "another instance");
  }
  return candidate;
}

int bind_ask_score(lua_State *L) {
  lua_settop(L, 3);
  bind_scorer *scorer = check_question(L);
  int anchor = lua_gettop(L);
  const bind_view *view = bind_vector_pool_of(L)->view;
  bool is_columns = lua_topointer(L, 3) == view->columns_table;
  size_t candidate = is_columns ? 0 : check_candidate(L, 3, view);
  const double *scores = check_scores(L, scorer, anchor);
  if (!is_columns) {
    lua_pushnumber(L, scores[candidate]);
    return 1;
  }
  size_t count = view->view->count;
  memcpy(push_vector_temporary(L, count), scores, count * sizeof *scores);
  return 1;
}

int bind_ask_score_all(lua_State *L) {
  enum { INSTANCES = 3, SCORES };
  lua_settop(L, SCORES);
  luaL_checktype(L, INSTANCES, LUA_TTABLE);
  if (lua_isnil(L, SCORES)) {
    lua_createtable(L, (int)lua_rawlen(L, INSTANCES), 0);
    lua_replace(L, SCORES);
  }
  luaL_checktype(L, SCORES, LUA_TTABLE);
  bind_scorer *scorer = check_question(L);
  int anchor = lua_gettop(L);
  const bind_view *view = bind_vector_pool_of(L)->view;
  luaL_argcheck(L, lua_topointer(L, INSTANCES) != view->columns_table,
                INSTANCES,
                "a list of instances expected, got columns, which score takes");
  const double *scores = check_scores(L, scorer, anchor);
  lua_Integer count = (lua_Integer)lua_rawlen(L, INSTANCES);
  /* A script can lengthen the list that it was given. */
  bool is_all = is_anchored(L, INSTANCES, anchor, ANCHOR_CANDIDATES) &&
                (size_t)count == view->view->count;
  for (lua_Integer i = 1; i <= count; i++) {
    size_t candidate = (size_t)i - 1;
    if (!is_all) {
      lua_rawgeti(L, INSTANCES, i);
      candidate = check_candidate(L, lua_gettop(L), view);
      lua_pop(L, 1);
    }
    lua_pushnumber(L, scores[candidate]);
    lua_rawseti(L, SCORES, i);
  }
  lua_pushvalue(L, SCORES);
  return 1;
}
