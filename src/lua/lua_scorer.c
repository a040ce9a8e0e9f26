#include "lua/lua_scorer.h"

#include <math.h>
#include <string.h>

#include "lua/bind.h"

enum { NAME_SIZE = 64 };

typedef struct lua_scorer {
  bind_decider decider;
  bind_scorer_form form;
  int score;   /* places of the functions in the anchor */
  int observe; /* 0 = none */
  char name[NAME_SIZE];
} lua_scorer;

/* What a protected body works on. */
typedef struct scorer_call {
  lua_scorer *scorer;
  double *scores; /* out, one per candidate */
  size_t chosen;
} scorer_call;

enum { CALL = 1, ANCHOR }; /* places on the stack of every body */

static scorer_call *open_call(lua_State *L) {
  scorer_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->scorer->decider.view->hooks);
  return call;
}

static double check_score(lua_State *L, const bind_view *view,
                          size_t candidate) {
  const char *id = view->view->ids[candidate];
  if (lua_type(L, -1) != LUA_TNUMBER) {
    luaL_error(L, "the score of %s is a %s, expected a number", id,
               luaL_typename(L, -1));
  }
  double score = lua_tonumber(L, -1);
  if (isnan(score)) {
    luaL_error(L, "the score of %s is not a number (nan)", id);
  }
  return score;
}

static int score_each(lua_State *L) {
  const scorer_call *call = open_call(L);
  bind_view *view = call->scorer->decider.view;
  push_view_request(L, view, ANCHOR);
  int request = lua_gettop(L);
  push_view_instances(L, view, ANCHOR);
  lua_rawgeti(L, ANCHOR, call->scorer->score); // [.., instances, function]
  for (size_t i = 0; i < view->view->count; i++) {
    lua_pushvalue(L, request + 2);
    lua_pushvalue(L, request);
    lua_rawgeti(L, request + 1, (lua_Integer)view->view->instances[i] + 1);
    lua_call(L, 2, 1);
    call->scores[i] = check_score(L, view, i);
    lua_pop(L, 1);
  }
  return 0;
}

/* The result of a column expression: a vector, or one number for all. */
static void check_column_result(lua_State *L, const bind_view *view,
                                double *scores) {
  size_t count = view->view->count;
  const bind_vector *vector = bind_vector_test(L, -1, view->pool);
  if (vector == NULL && lua_type(L, -1) != LUA_TNUMBER) {
    luaL_error(L, "score returned a %s, expected a vector or a number",
               luaL_typename(L, -1));
  }
  if (vector != NULL && vector->count != count) {
    luaL_error(L, "score returned a vector of %I items for %I candidates",
               (LUAI_UACINT)vector->count, (LUAI_UACINT)count);
  }
  double single = lua_tonumber(L, -1);
  for (size_t i = 0; i < count; i++) {
    scores[i] = vector != NULL ? vector->items[i] : single;
    if (isnan(scores[i])) {
      luaL_error(L, "the score of %s is not a number (nan)",
                 view->view->ids[i]);
    }
  }
}

static int score_columns(lua_State *L) {
  const scorer_call *call = open_call(L);
  bind_view *view = call->scorer->decider.view;
  lua_rawgeti(L, ANCHOR, call->scorer->score);
  push_view_request(L, view, ANCHOR);
  push_view_columns(L, view, ANCHOR);
  lua_call(L, 2, 1);
  check_column_result(L, view, call->scores);
  return 0;
}

static int score_all(lua_State *L) {
  const scorer_call *call = open_call(L);
  bind_view *view = call->scorer->decider.view;
  size_t count = view->view->count;
  lua_rawgeti(L, ANCHOR, ANCHOR_SCORES);
  int scores = lua_gettop(L);
  for (size_t i = 0; i < count; i++) { /* so that a missing one is noticed */
    lua_pushboolean(L, 0);
    lua_rawseti(L, scores, (lua_Integer)i + 1);
  }
  lua_rawgeti(L, ANCHOR, call->scorer->score);
  push_view_request(L, view, ANCHOR);
  push_view_candidates(L, view, ANCHOR);
  lua_pushvalue(L, scores);
  lua_call(L, 3, 0);
  for (size_t i = 0; i < count; i++) {
    if (lua_rawgeti(L, scores, (lua_Integer)i + 1) == LUA_TBOOLEAN) {
      return luaL_error(L, "score_all set no score for %s (scores[%I])",
                        view->view->ids[i], (LUAI_UACINT)i + 1);
    }
    call->scores[i] = check_score(L, view, i);
    lua_pop(L, 1);
  }
  return 0;
}

static int observe(lua_State *L) {
  const scorer_call *call = open_call(L);
  bind_view *view = call->scorer->decider.view;
  lua_rawgeti(L, ANCHOR, call->scorer->observe);
  push_view_request(L, view, ANCHOR);
  push_view_instances(L, view, ANCHOR);
  lua_rawgeti(L, -1, (lua_Integer)view->view->instances[call->chosen] + 1);
  lua_remove(L, -2);
  lua_call(L, 2, 0);
  return 0;
}

static blis_status scorer_score(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view, double *scores,
                                blis_error *error) {
  static const lua_CFunction bodies[] = {score_each, score_columns, score_all};
  lua_scorer *scorer = state;
  scorer_call call = {.scorer = scorer, .scores = scores};
  return bind_decide(&scorer->decider, request, view, bodies[scorer->form],
                     &call, error);
}

static blis_status scorer_observe(void *state,
                                  const blis_routing_request *request,
                                  const blis_routing_view *view, size_t chosen,
                                  blis_error *error) {
  lua_scorer *scorer = state;
  scorer_call call = {.scorer = scorer, .chosen = chosen};
  return bind_decide(&scorer->decider, request, view, observe, &call, error);
}

static void scorer_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(lua_scorer));
}

static const blis_scorer_ops silent_ops = {.score = scorer_score,
                                           .free = scorer_free};
static const blis_scorer_ops observing_ops = {
    .score = scorer_score, .observe = scorer_observe, .free = scorer_free};

void check_lua_scorer(lua_State *L, int index, bind_view *view,
                      blis_scorer *scorer) {
  static const char *const forms[] = {"candidate", "columns", "all", NULL};
  lua_scorer made = {.decider = {.view = view, .kind = "scorer"}};
  made.form = (bind_scorer_form)check_field_choice(L, index, "form", forms);
  strncpy(made.name, check_field_string(L, index, "name"), NAME_SIZE - 1);
  made.score = push_hook_field(L, index, "score", view->hooks);
  made.observe = push_hook_field(L, index, "observe", view->hooks);
  blis_alloc alloc = bind_alloc(L);
  lua_scorer *state = blis_alloc_new(&alloc, sizeof *state);
  if (state == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
    return;
  }
  *state = made;
  state->decider.name = state->name;
  *scorer = (blis_scorer){
      .ops = made.observe == 0 ? &silent_ops : &observing_ops,
      .state = state,
      .alloc = alloc,
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* the others are had when read */
      .name = state->name,
  };
}
