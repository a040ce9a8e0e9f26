#include "lua/policies/admission.h"

#include <stdio.h>
#include <string.h>

#include "lua/bind/bind.h"

enum { REASON_SIZE = 128, NAME_SIZE = 64 };

typedef struct lua_admission {
  bind_decider decider;
  int decide;  /* places in the anchor: the function, */
  int cluster; /* and the table it knows as cluster */
  char reason[REASON_SIZE];
  char name[NAME_SIZE];
} lua_admission;

typedef struct admission_call {
  lua_admission *admission;
  blis_admission_decision decision; /* out */
} admission_call;

static void check_rejection(lua_State *L, int index, admission_call *call) {
  char *reason = call->admission->reason;
  reason[0] = '\0';
  if (!lua_isnoneornil(L, index)) {
    if (lua_type(L, index) != LUA_TSTRING) {
      luaL_error(L, "the reason of a rejection is a %s, expected a text",
                 luaL_typename(L, index));
    }
    snprintf(reason, REASON_SIZE, "%s", lua_tostring(L, index));
  }
  call->decision.verdict = BLIS_REJECT;
  call->decision.reason = reason;
}

static void check_delay(lua_State *L, int index, admission_call *call) {
  int is_integer = 0;
  lua_Integer delay_us = lua_tointegerx(L, index, &is_integer);
  if (!is_integer || delay_us < 1) {
    luaL_error(L, "a delay is a whole number of microseconds above 0, got %s",
               push_what(L, index));
  }
  call->decision.verdict = BLIS_DELAY;
  call->decision.delay_us = delay_us;
}

static void check_verdict(lua_State *L, int index, admission_call *call) {
  call->decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  int type = lua_type(L, index);
  const char *word = type == LUA_TSTRING ? lua_tostring(L, index) : "";
  if (strcmp(word, "admit") == 0 ||
      (type == LUA_TBOOLEAN && lua_toboolean(L, index))) {
    return;
  }
  if (type == LUA_TBOOLEAN || strcmp(word, "reject") == 0) {
    check_rejection(L, index + 1, call);
  } else if (strcmp(word, "delay") == 0) {
    check_delay(L, index + 1, call);
  } else {
    luaL_error(L,
               "it returned %s, expected blis.admit(), blis.reject(reason) or "
               "blis.delay(us)",
               push_what(L, index));
  }
}

static int decide(lua_State *L) {
  enum { CALL = 1, ANCHOR };
  admission_call *call = lua_touserdata(L, CALL);
  bind_view *view = call->admission->decider.view;
  bind_hooks_anchor(L, view->hooks);
  lua_rawgeti(L, ANCHOR, call->admission->decide);
  push_view_request(L, view, ANCHOR);
  lua_rawgeti(L, ANCHOR, call->admission->cluster);
  lua_call(L, 2, 2);
  check_verdict(L, lua_gettop(L) - 1, call);
  return 0;
}

static blis_status admission_decide(void *state,
                                    const blis_routing_request *request,
                                    const blis_routing_view *view,
                                    blis_admission_decision *decision,
                                    blis_error *error) {
  admission_call call = {.admission = state};
  BLIS_TRY(bind_decide(&call.admission->decider, request, view, decide, &call,
                       error));
  *decision = call.decision;
  return BLIS_OK;
}

static void admission_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(lua_admission));
}

static const blis_admission_ops admission_ops = {.decide = admission_decide,
                                                 .free = admission_free};

void check_scripted_admission(lua_State *L, int index, bind_view *view,
                              blis_admission *admission) {
  lua_admission made = {.decider = {.view = view, .kind = "admission policy"}};
  strncpy(made.name, check_field_string(L, index, "name"), NAME_SIZE - 1);
  made.decide = push_hook_field(L, index, "decide", view->hooks);
  push_cluster_table(L, view);
  made.cluster = push_hook_function(L, view->hooks);
  blis_alloc alloc = bind_alloc(L);
  lua_admission *state = blis_alloc_new(&alloc, sizeof *state);
  if (state == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
    return;
  }
  *state = made;
  state->decider.name = state->name;
  *admission = (blis_admission){
      .ops = &admission_ops,
      .state = state,
      .alloc = alloc,
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* the others are had when read */
      .name = state->name,
  };
}
