#include "lua/policies/routing/router.h"

#include <math.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/routing/scorer.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/listening.h"
#include "lua/policies/view/stage_context.h"
#include "policy/contract/facts.h"

enum { REASON_SIZE = 128 };

typedef struct scripted_router {
  bind_decider decider;
  int observe; /* index in the anchor; 0 = none */
  char reason[REASON_SIZE];
  blis_alloc alloc;
  double *scores; /* scores of the last decision with scores; NULL = none yet */
  size_t score_count;
} scripted_router;

typedef struct router_call {
  scripted_router *router;
  blis_decision decision; /* out */
} router_call;

/* Reads { prefill =, decode = }: instances or their indices. */
static void check_pair(lua_State *L, int index, router_call *call) {
  const bind_view *view = call->router->decider.view;
  if (view->request->stage == BLIS_ROLE_PREFILL) {
    luaL_error(L, "it returned both instances where it was asked for one that "
                  "prefills, which the routing policy of the decode stage "
                  "alone can do; give the prefill stage one of its own, "
                  "prefill_routing, or leave stage_order at \"decode-first\"");
  }
  if (view->request->stage != BLIS_ROLE_DECODE) {
    luaL_error(L, "it returned both instances, which the routing policy of the "
                  "decode stage can do where the cluster has pools");
  }
  int64_t decode = check_instance_field(L, index, "decode");
  int64_t prefill = check_instance_field(L, index, "prefill");
  if (decode < 0 || prefill < 0) {
    luaL_error(L,
               "it returned a table without %s, expected the index of a "
               "candidate or { prefill = instance, decode = instance }",
               decode < 0 ? "decode" : "prefill");
  }
  blis_decision *decision = &call->decision;
  decision->chosen = decode <= UINT32_MAX ? blis_routing_view_find(view->view, (uint32_t)decode)
                                          : view->view->count;
  if (decision->chosen == view->view->count) {
    push_alias_instance(L, &view->hooks->alias, decode);
    luaL_error(L, "%s is not one of those that decode", lua_tostring(L, -1));
  }
  decision->has_prefill = true;
  decision->prefill = prefill;
}

/* Reads the result of blis.reject(reason), which is "reject", reason. */
static void check_rejection(lua_State *L, int index, router_call *call) {
  if (strcmp(lua_tostring(L, index), "reject") != 0) {
    luaL_error(L,
               "it returned %s, expected the index of a candidate, an integer "
               "from 1 to %I, or blis.reject(reason)",
               push_what(L, index), (LUAI_UACINT)call->router->decider.view->view->count);
  }
  char *reason = call->router->reason;
  reason[0] = '\0';
  if (!lua_isnil(L, index + 1)) {
    check_reason_text(L, index + 1, reason, REASON_SIZE);
  }
  call->decision.rejected = reason[0] != '\0' ? reason : "rejected-by-routing";
}

/* Reads the priority at index. */
static void check_priority(lua_State *L, int index, router_call *call) {
  const bind_view *view = call->router->decider.view;
  lua_Number priority = lua_tonumber(L, index);
  if (lua_type(L, index) != LUA_TNUMBER || isnan(priority)) {
    luaL_error(L,
               "its second result is %s, expected the priority of the request, "
               "a number (%s is more urgent), or { reason =, scores =, priority = }",
               push_what(L, index), bind_counts_down(view) ? "lower" : "higher");
  }
  call->decision.has_priority = true;
  call->decision.priority = bind_view_priority(view, priority);
}

/* Allocates a score for every candidate. */
static double *make_scores(lua_State *L, scripted_router *router, size_t count) {
  if (count > router->score_count) {
    double *grown = blis_alloc_new(&router->alloc, count * sizeof *grown);
    if (grown == NULL) {
      check_status(L, BLIS_ERR_NOMEM, NULL);
    }
    blis_alloc_free(&router->alloc, router->scores, router->score_count * sizeof *grown);
    router->scores = grown;
    router->score_count = count;
  }
  return router->scores;
}

/* Pushes the score of a candidate, found by its index or by the id of its instance. */
static void push_score(lua_State *L, int table, const bind_view *view, size_t candidate) {
  if (lua_rawgeti(L, table, (lua_Integer)candidate + 1) == LUA_TNIL) {
    lua_pop(L, 1);
    push_alias_instance(L, &view->hooks->alias, view->view->instances[candidate]);
    lua_rawget(L, table);
  }
}

/*
 * Reads the scores at index, a list or a table by instance id. A candidate without a score is
 * excluded.
 */
static void check_own_scores(lua_State *L, int index, router_call *call) {
  const bind_view *view = call->router->decider.view;
  blis_decision *decision = &call->decision;
  if (!lua_istable(L, index)) {
    luaL_error(L, "its scores are %s, expected a table of numbers by candidate or instance id",
               push_what(L, index));
  }
  double *scores = make_scores(L, call->router, view->view->count);
  for (size_t i = 0; i < view->view->count; i++) {
    push_score(L, index, view, i);
    double score = lua_isnil(L, -1) ? (double)-INFINITY : lua_tonumber(L, -1);
    if ((!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TNUMBER) || isnan(score)) {
      luaL_error(L, "the score of candidate %I is %s, expected a number", (LUAI_UACINT)i + 1,
                 push_what(L, -1));
    }
    scores[i] = score;
    lua_pop(L, 1);
  }
  if (scores[decision->chosen] == (double)-INFINITY) {
    luaL_error(L, "its scores have none for candidate %I, which it chose",
               (LUAI_UACINT)decision->chosen + 1);
  }
  decision->scores = scores;
  decision->score = scores[decision->chosen];
}

/* Reads { reason =, scores =, priority = }, all of which are optional. */
static void check_details(lua_State *L, int index, router_call *call) {
  static const char *const known[] = {"reason", "scores", "priority"};
  lua_Integer found = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    lua_pushstring(L, known[i]);
    if (lua_rawget(L, index) == LUA_TNIL) {
      lua_pop(L, 1);
      continue;
    }
    int value = lua_gettop(L);
    found++;
    if (i == 0) {
      check_reason_text(L, value, call->router->reason, REASON_SIZE);
      call->decision.reason = call->router->reason[0] != '\0' ? call->router->reason : NULL;
    } else if (i == 1) {
      check_own_scores(L, value, call);
    } else {
      check_priority(L, value, call);
    }
    lua_settop(L, value - 1);
  }
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    found--;
  }
  if (found < 0) {
    luaL_error(L, "its second result has an unknown field; known are reason, scores, priority");
  }
}

/* Reads the value after the choice: nothing, a priority, or details of the choice. */
static void check_second(lua_State *L, int index, router_call *call) {
  if (lua_istable(L, index)) {
    check_details(L, index, call);
  } else if (!lua_isnil(L, index)) {
    check_priority(L, index, call);
  }
}

/* Returns whether the table at index is a pair. Other tables, such as candidates, are not valid
   choices. */
static bool is_pair(lua_State *L, int index) {
  static const char *const keys[] = {"prefill", "decode"};
  bool found = false;
  for (size_t i = 0; lua_type(L, index) == LUA_TTABLE && i < 2; i++) {
    lua_pushstring(L, keys[i]);
    found = lua_rawget(L, index) != LUA_TNIL || found;
    lua_pop(L, 1);
  }
  return found;
}

static int route(lua_State *L, void *ud) {
  router_call *call = ud;
  bind_view *view = call->router->decider.view;
  push_view_candidates(L, view, AT_ANCHOR);
  lua_rawgeti(L, AT_ANCHOR, ANCHOR_CONTEXT);
  lua_call(L, 3, 2);
  int answer = lua_gettop(L) - 1;
  if (lua_type(L, answer) == LUA_TSTRING) {
    check_rejection(L, answer, call);
    return 0;
  }
  if (is_pair(L, answer)) {
    check_pair(L, answer, call);
  } else {
    call->decision.chosen = check_candidate_index(L, answer, view);
  }
  check_second(L, answer + 1, call);
  return 0;
}

/* observe(request, chosen) */
static int observe(lua_State *L, void *ud) {
  const router_call *call = ud;
  bind_view *view = call->router->decider.view;
  lua_rawgeti(L, AT_ANCHOR, call->router->observe);
  push_view_request(L, view, AT_ANCHOR);
  push_view_instances(L, view, AT_ANCHOR);
  lua_rawgeti(L, -1, (lua_Integer)view->view->instances[call->decision.chosen] + 1);
  lua_remove(L, -2);
  lua_call(L, 2, 0);
  return 0;
}

/* Reports a choice to the observe function of the policy, then to the scorers that it may have
   called. */
static blis_status tell_of_choice(router_call *call, const blis_question *q) {
  bind_decider teller = call->router->decider;
  teller.function = 0;
  if (call->router->observe != 0) {
    BLIS_TRY(bind_decide(&teller, q->request, q->view, observe, call, q->error));
  }
  return bind_observe_decision(teller.view, q->request, q->view, call->decision.chosen, q->error);
}

static blis_status router_route(const blis_question *q, blis_decision *decision) {
  router_call call = {.router = q->state};
  BLIS_TRY(bind_decide(&call.router->decider, q->request, q->view, route, &call, q->error));
  *decision = call.decision;
  return decision->rejected != NULL ? BLIS_OK : tell_of_choice(&call, q);
}

static blis_status router_learn(const blis_question *q, size_t chosen) {
  router_call call = {.router = q->state, .decision = {.chosen = chosen}};
  return call.router->observe == 0 ? BLIS_OK : tell_of_choice(&call, q);
}

static void router_free(const blis_alloc *alloc, void *state) {
  scripted_router *router = state;
  blis_alloc_free(&router->alloc, router->scores, router->score_count * sizeof *router->scores);
  blis_alloc_free(alloc, state, sizeof(scripted_router));
}

static const blis_router_ops router_ops = {
    .route = router_route, .learn = router_learn, .free = router_free};

void check_scripted_router(lua_State *L, int index, bind_view *view, blis_router *router) {
  const scripted_router made = {.decider = check_decider(L, index, view, "routing policy", "route"),
                                .alloc = bind_alloc(L),
                                .observe = push_hook_field(L, index, "observe", view->hooks)};
  check_listening(L, index, view, &made.decider);
  scripted_router *state = check_copy(L, &made, sizeof made);
  *router = (blis_router){
      .ops = &router_ops,
      .state = state,
      .alloc = bind_alloc(L),
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* other signals are fetched when read */
      .name = state->decider.name,
  };
}
