#include "lua/policies/routing/policy.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/policies/routing/by_hand.h"
#include "lua/policies/routing/scorer.h"
#include "lua/policies/view/fresh.h"

#define POLICY_TYPE "blis.policy"

/* User values. */
enum { DEFINITION = 1, BY_HAND /* for calls outside of runs */ };

int bind_policy_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  check_field_string(L, 1, "kind");
  check_field_string(L, 1, "name");
  lua_newuserdatauv(L, 1, BY_HAND);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, DEFINITION);
  luaL_setmetatable(L, POLICY_TYPE);
  return 1;
}

int bind_policy_definition(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_testudata(L, 1, POLICY_TYPE) == NULL) {
    lua_pushnil(L);
  } else {
    lua_getiuservalue(L, 1, DEFINITION);
  }
  return 1;
}

/* Pushes the definition of a policy of the given kind, or raises. */
static void push_policy_definition(lua_State *L, int index, const char *kind) {
  luaL_checkudata(L, index, POLICY_TYPE);
  lua_getiuservalue(L, index, DEFINITION);
  const char *actual = check_field_string(L, -1, "kind");
  if (strcmp(actual, kind) != 0) {
    luaL_error(L, "this is a %s, expected a %s", actual, kind);
  }
}

/*
 * Scripts call scorers during a decision. They can also call built-in scorers outside of decisions,
 * with requests and candidates that they describe.
 */

/* Returns true if there is no current decision in which the scorer can be called. */
static bool is_by_hand(lua_State *L) {
  const bind_view *view = bind_vector_pool_of(L)->view;
  return view == NULL || view->view == NULL;
}

/* Pushes the scorer at index 1 in its form for calls outside of runs. */
static void push_asked_by_hand(lua_State *L) {
  push_policy_definition(L, 1, "scorer");
  int definition = lua_gettop(L);
  if (is_scripted_policy(L, definition, "score")) {
    luaL_error(L, "a scorer in Lua can be called only during a decision about a "
                  "request; built-in scorers can be called at any time");
  }
  if (lua_getiuservalue(L, 1, BY_HAND) == LUA_TNIL) {
    lua_pop(L, 1);
    push_scorer_by_hand(L, definition);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, BY_HAND);
  }
  lua_remove(L, definition);
}

/* Returns whether the value at index is the value at an index of the anchor. */
static bool is_anchored(lua_State *L, int index, int anchor, int place) {
  lua_rawgeti(L, anchor, place);
  bool is_same = lua_rawequal(L, index, -1) != 0;
  lua_pop(L, 1);
  return is_same;
}

/* Returns the scorer at index 1 for the current decision; pushes the anchor. */
static bind_scorer *check_question(lua_State *L) {
  bind_view *view = bind_vector_pool_of(L)->view;
  push_policy_definition(L, 1, "scorer");
  int definition = lua_gettop(L);
  bind_hooks_anchor(L, view->hooks);
  luaL_argcheck(L, lua_topointer(L, 2) == view->request_table, 2,
                "expected the request that the policy was called with");
  bind_scorer *scorer = check_view_scorer(L, definition, view);
  lua_replace(L, definition); /* the anchor is on top */
  return scorer;
}

/* Returns the candidate index of the instance table at index. */
static size_t check_candidate(lua_State *L, int index, const bind_view *view) {
  lua_Integer number = 0;
  if (lua_type(L, index) == LUA_TTABLE) {
    lua_pushliteral(L, "index");
    lua_rawget(L, index);
    number = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  size_t candidate =
      number < 1 ? view->view->count : blis_routing_view_find(view->view, (uint32_t)(number - 1));
  if (candidate == view->view->count) {
    luaL_error(L, "expected a candidate of this decision, got %s",
               number < 1 ? luaL_typename(L, index) : "another instance");
  }
  return candidate;
}

/*
 * scorer:score(request, instance) -> number,
 * scorer:score(request, columns) -> vector
 */
static int policy_score(lua_State *L) {
  lua_settop(L, 3);
  if (is_by_hand(L)) {
    push_asked_by_hand(L); /* for a list of one candidate */
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 3);
    lua_rawseti(L, 5, 1);
    lua_pushnumber(L, push_scores_by_hand(L, 4, 2, 5)[0]);
    return 1;
  }
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

/* Writes numbers into the list at index, and pushes the list. */
static void set_list(lua_State *L, int index, const double *numbers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    lua_pushnumber(L, numbers[i]);
    lua_rawseti(L, index, (lua_Integer)i + 1);
  }
  lua_pushvalue(L, index);
}

/* scorer:observe(request, instance): reports, outside of runs, the instance to which a request
   was sent. */
static int policy_observe(lua_State *L) {
  lua_settop(L, 3);
  if (!is_by_hand(L)) {
    luaL_error(L, "during a run, scorers hear of decisions by themselves");
  }
  push_asked_by_hand(L);
  check_observe_by_hand(L, 4, 2, 3);
  return 0;
}

/* scorer:score_all(request, instances, scores?) -> scores */
static int policy_score_all(lua_State *L) {
  enum { INSTANCES = 3, SCORES };
  lua_settop(L, SCORES);
  luaL_checktype(L, INSTANCES, LUA_TTABLE);
  if (lua_isnil(L, SCORES)) {
    lua_createtable(L, (int)lua_rawlen(L, INSTANCES), 0);
    lua_replace(L, SCORES);
  }
  luaL_checktype(L, SCORES, LUA_TTABLE);
  if (is_by_hand(L)) {
    push_asked_by_hand(L);
    const double *given = push_scores_by_hand(L, SCORES + 1, 2, INSTANCES);
    set_list(L, SCORES, given, lua_rawlen(L, INSTANCES));
    return 1;
  }
  bind_scorer *scorer = check_question(L);
  int anchor = lua_gettop(L);
  const bind_view *view = bind_vector_pool_of(L)->view;
  luaL_argcheck(L, lua_topointer(L, INSTANCES) != view->columns_table, INSTANCES,
                "expected a list of instances, got columns; score() takes those");
  const double *scores = check_scores(L, scorer, anchor);
  lua_Integer count = (lua_Integer)lua_rawlen(L, INSTANCES);
  /* A script can append to its list. */
  bool is_all =
      is_anchored(L, INSTANCES, anchor, ANCHOR_CANDIDATES) && (size_t)count == view->view->count;
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

/* Methods, by kind of policy. */
static const struct {
  const char *kind;
  const char *name;
  lua_CFunction function;
} methods[] = {
    {"scorer", "observe", policy_observe},
    {"scorer", "score", policy_score},
    {"scorer", "score_all", policy_score_all},
};

static lua_CFunction find_method(const char *kind, const char *name) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (strcmp(methods[i].kind, kind) == 0 && strcmp(methods[i].name, name) == 0) {
      return methods[i].function;
    }
  }
  return NULL;
}

static const char *const policy_fields[] = {"kind", "name", NULL};

/* Pushes policy.kind, policy.name, or a method of the policy's kind. */
static bool push_policy_field(lua_State *L, const char *key) {
  luaL_checkudata(L, 1, POLICY_TYPE);
  lua_getiuservalue(L, 1, DEFINITION);
  if (strcmp(key, "kind") == 0 || strcmp(key, "name") == 0) {
    lua_getfield(L, -1, key);
    return true;
  }
  const char *kind = check_field_string(L, -1, "kind");
  lua_CFunction method = find_method(kind, key);
  if (method == NULL) {
    luaL_error(L, "a %s has no field '%s'; it has kind and name%s", kind, key,
               strcmp(kind, "scorer") == 0 ? ", and the methods observe, score and score_all" : "");
  }
  lua_pushcfunction(L, method);
  return true;
}

static int policy_tostring(lua_State *L) {
  luaL_checkudata(L, 1, POLICY_TYPE);
  lua_getiuservalue(L, 1, DEFINITION);
  lua_pushfstring(L, "%s '%s'", check_field_string(L, -1, "kind"),
                  check_field_string(L, -1, "name"));
  return 1;
}

static const luaL_Reg policy_meta[] = {{"__tostring", policy_tostring}, {NULL, NULL}};

static const bind_fields policy_members = {
    .owner = "a policy", .names = policy_fields, .push = push_policy_field};

void bind_open_policies(lua_State *L) {
  push_new_type(L, POLICY_TYPE, policy_meta, NULL);
  set_fields(L, &policy_members);
  lua_pop(L, 1);
}
