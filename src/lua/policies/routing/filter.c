#include "lua/policies/routing/filter.h"

#include <math.h>

#include "lua/bind/bind.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/listening.h"

/* A filter or a picker. */
typedef struct scripted_stage {
  bind_decider decider;
  bool has_columns;
} scripted_stage;

/* Arguments of a protected body. */
typedef struct stage_call {
  const scripted_stage *stage;
  bool *keep;           /* out, for filters */
  const double *scores; /* in, for pickers */
  size_t chosen;        /* out, for pickers */
} stage_call;

static int keep_each(lua_State *L, void *ud) {
  const stage_call *call = ud;
  bind_view *view = call->stage->decider.view;
  push_view_instances(L, view, AT_ANCHOR);
  for (size_t i = 0; i < view->view->count; i++) {
    lua_pushvalue(L, AT_FUNCTION);
    lua_pushvalue(L, AT_REQUEST);
    lua_rawgeti(L, AT_REQUEST + 1, (lua_Integer)view->view->instances[i] + 1);
    lua_call(L, 2, 1);
    if (lua_type(L, -1) != LUA_TBOOLEAN) {
      return luaL_error(L, "keep returned %s for %s, expected true or false", push_what(L, -1),
                        view->view->ids[i]);
    }
    call->keep[i] = lua_toboolean(L, -1) != 0;
    lua_pop(L, 1);
  }
  return 0;
}

static int keep_columns(lua_State *L, void *ud) {
  const stage_call *call = ud;
  bind_view *view = call->stage->decider.view;
  size_t count = view->view->count;
  push_view_columns(L, view, AT_ANCHOR);
  lua_call(L, 2, 1);
  const bind_vector *vector = bind_vector_test(L, -1);
  if (vector == NULL || vector->count != count) {
    return luaL_error(L,
                      "keep returned %s, expected a vector with an item for "
                      "each of %I candidates (0 = out)",
                      vector == NULL ? push_what(L, -1) : "a shorter vector", (LUAI_UACINT)count);
  }
  for (size_t i = 0; i < count; i++) {
    if (isnan(vector->items[i])) {
      return luaL_error(L, "the item of %s is not a number (nan)", view->view->ids[i]);
    }
    call->keep[i] = vector->items[i] != 0;
  }
  return 0;
}

static int pick(lua_State *L, void *ud) {
  stage_call *call = ud;
  bind_view *view = call->stage->decider.view;
  push_view_candidates(L, view, AT_ANCHOR);
  lua_rawgeti(L, AT_ANCHOR, ANCHOR_SUMS);
  size_t count = view->view->count;
  for (size_t i = 0; i < count; i++) {
    lua_pushnumber(L, call->scores[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  /* Clears the remaining items of a previous decision with more candidates. */
  for (size_t i = count; lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TNIL; i++) {
    lua_pushnil(L);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  lua_call(L, 3, 1);
  call->chosen = check_candidate_index(L, -1, view);
  return 0;
}

static blis_status stage_filter(const blis_question *q, bool *keep) {
  const scripted_stage *stage = q->state;
  stage_call call = {.stage = stage, .keep = keep};
  return bind_decide(&stage->decider, q->request, q->view,
                     stage->has_columns ? keep_columns : keep_each, &call, q->error);
}

static blis_status stage_pick(const blis_question *q, const double *scores, size_t *chosen) {
  const scripted_stage *stage = q->state;
  stage_call call = {.stage = stage, .scores = scores};
  BLIS_TRY(bind_decide(&stage->decider, q->request, q->view, pick, &call, q->error));
  *chosen = call.chosen;
  return BLIS_OK;
}

static void stage_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(scripted_stage));
}

static scripted_stage *check_stage(lua_State *L, int index, bind_view *view, const char *kind,
                                   const char *field) {
  const scripted_stage made = {.decider = check_decider(L, index, view, kind, field),
                               .has_columns = opt_field_boolean(L, index, "columns", false)};
  check_listening(L, index, view, &made.decider);
  return check_copy(L, &made, sizeof made);
}

void check_scripted_filter(lua_State *L, int index, bind_view *view, blis_filter *filter) {
  static const blis_filter_ops ops = {.filter = stage_filter, .free = stage_free};
  scripted_stage *state = check_stage(L, index, view, "filter", "keep");
  *filter = (blis_filter){.ops = &ops,
                          .state = state,
                          .alloc = bind_alloc(L),
                          .needs = BLIS_SIGNALS_WITH_HISTORY,
                          .name = state->decider.name};
}

void check_scripted_picker(lua_State *L, int index, bind_view *view, blis_picker *picker) {
  static const blis_picker_ops ops = {.pick = stage_pick, .free = stage_free};
  scripted_stage *state = check_stage(L, index, view, "picker", "pick");
  *picker = (blis_picker){.ops = &ops,
                          .state = state,
                          .alloc = bind_alloc(L),
                          .needs = BLIS_SIGNALS_WITH_HISTORY,
                          .name = state->decider.name};
}
