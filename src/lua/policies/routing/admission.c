#include "lua/policies/routing/admission.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/listening.h"

enum { REASON_SIZE = 128 };

typedef struct scripted_admission {
  bind_decider decider;
  int cluster; /* index in the anchor of the `cluster` argument */
  char reason[REASON_SIZE];
} scripted_admission;

typedef struct admission_call {
  scripted_admission *admission;
  blis_admission_decision decision; /* out */
} admission_call;

/* The reason at index, "" without one. */
static const char *check_reason(lua_State *L, int index, admission_call *call) {
  char *reason = call->admission->reason;
  reason[0] = '\0';
  if (!lua_isnoneornil(L, index)) {
    check_reason_text(L, index, reason, REASON_SIZE);
  }
  return reason;
}

static void check_rejection(lua_State *L, int index, admission_call *call) {
  call->decision.verdict = BLIS_REJECT;
  call->decision.reason = check_reason(L, index, call);
}

static void check_delay(lua_State *L, int index, admission_call *call) {
  int is_integer = 0;
  lua_Integer delay_us = lua_tointegerx(L, index, &is_integer);
  if (!is_integer || delay_us < 1) {
    luaL_error(L, "a delay must be a whole number of microseconds above 0, got %s",
               push_what(L, index));
  }
  call->decision.verdict = BLIS_DELAY;
  call->decision.delay_us = delay_us;
  const char *reason = check_reason(L, index + 1, call);
  call->decision.reason = reason[0] != '\0' ? reason : NULL;
}

static void check_verdict(lua_State *L, int index, admission_call *call) {
  call->decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  int type = lua_type(L, index);
  const char *word = type == LUA_TSTRING ? lua_tostring(L, index) : "";
  if (strcmp(word, "admit") == 0 || (type == LUA_TBOOLEAN && lua_toboolean(L, index))) {
    return;
  }
  if (type == LUA_TBOOLEAN || strcmp(word, "reject") == 0) {
    check_rejection(L, index + 1, call);
  } else if (strcmp(word, "delay") == 0) {
    check_delay(L, index + 1, call);
  } else {
    luaL_error(L,
               "it returned %s, expected blis.admit(), blis.reject(reason) or "
               "blis.delay(us, reason)",
               push_what(L, index));
  }
}

static int decide(lua_State *L, void *ud) {
  admission_call *call = ud;
  lua_rawgeti(L, AT_ANCHOR, call->admission->cluster);
  lua_call(L, 2, 3);
  check_verdict(L, lua_gettop(L) - 2, call);
  return 0;
}

static blis_status admission_decide(const blis_question *q, blis_admission_decision *decision) {
  admission_call call = {.admission = q->state};
  BLIS_TRY(bind_decide(&call.admission->decider, q->request, q->view, decide, &call, q->error));
  *decision = call.decision;
  return BLIS_OK;
}

static void admission_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(scripted_admission));
}

static const blis_admission_ops admission_ops = {.decide = admission_decide,
                                                 .free = admission_free};

void check_scripted_admission(lua_State *L, int index, bind_view *view, blis_admission *admission) {
  scripted_admission made = {.decider =
                                 check_decider(L, index, view, "admission policy", "decide")};
  check_listening(L, index, view, &made.decider);
  push_cluster_table(L, view);
  made.cluster = push_hook_function(L, view->hooks);
  scripted_admission *state = check_copy(L, &made, sizeof made);
  *admission = (blis_admission){
      .ops = &admission_ops,
      .state = state,
      .alloc = bind_alloc(L),
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* other signals are fetched when read */
      .name = state->decider.name,
  };
}
