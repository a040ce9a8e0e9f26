#include "lua/policies/routing/cascade.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "instance/request/live_request.h"
#include "lua/bind/bind.h"
#include "lua/bind/rng.h"
#include "lua/policies/view/decision.h"
#include "workload/workload.h"

typedef struct scripted_cascade {
  bind_decider decider; /* contains at least one of the functions below */
  blis_cascade inner;   /* called if the script does not decide */
  int quality;          /* index in the anchor; 0 = none */
  int escalate;
  int attempt; /* index of the table that describes an attempt */
  int rng;
  blis_random *random; /* stream of the rng argument */
  int64_t seed;
} scripted_cascade;

typedef struct cascade_call {
  scripted_cascade *cascade;
  const blis_routing_request *request;
  blis_cascade_answer *answer; /* in and out */
  int64_t output_tokens;       /* default output length of the request */
  const blis_cascade_attempt *attempt;
  bool *escalates; /* in and out, like next */
  uint32_t *next;
} cascade_call;

static blis_status enter(cascade_call *call, const char *kind, int function, bind_body body,
                         int64_t now_us, blis_error *error) {
  bind_decider decider = call->cascade->decider;
  decider.kind = kind;
  decider.function = function;
  const blis_routing_view nobody = {.now_us = now_us};
  return bind_decide(&decider, call->request, &nobody, body, call, error);
}

/* Quality of answers. */

static void check_logprob(lua_State *L, int index, double *logprob) {
  if (lua_isnil(L, index)) {
    return;
  }
  double value = lua_tonumber(L, index);
  if (lua_type(L, index) != LUA_TNUMBER || !isfinite(value)) {
    luaL_error(L,
               "it returned %s, expected a mean log-probability (a number) or "
               "nil",
               push_what(L, index));
  }
  *logprob = value;
}

static void check_tokens(lua_State *L, int index, int64_t *tokens) {
  if (lua_isnil(L, index)) {
    return;
  }
  int is_whole = 0;
  lua_Integer value = lua_tointegerx(L, index, &is_whole);
  if (lua_type(L, index) != LUA_TNUMBER || !is_whole || value < 0 ||
      value > BLIS_WORKLOAD_MAX_TOKENS) {
    luaL_error(L,
               "it returned %s as the length of the answer, expected a whole "
               "number of tokens from 0 to %d, or nil",
               push_what(L, index), (int)BLIS_WORKLOAD_MAX_TOKENS);
  }
  *tokens = value;
}

static int ask_quality(lua_State *L, void *ud) {
  cascade_call *call = ud;
  const scripted_cascade *self = call->cascade;
  const blis_routing_request *request = call->request;
  lua_pushstring(L, blis_intern_text(request->strings, request->model));
  lua_rawgeti(L, AT_ANCHOR, self->rng);
  blis_cascade_random(self->random, self->seed, request);
  lua_pushinteger(L, call->output_tokens);
  lua_call(L, 4, 2);
  check_logprob(L, lua_gettop(L) - 1, &call->answer->mean_logprob);
  check_tokens(L, lua_gettop(L), &call->answer->output_tokens);
  return 0;
}

static blis_status answer(void *state, const blis_routing_request *request, int64_t output_tokens,
                          int64_t now_us, blis_cascade_answer *answer, blis_error *error) {
  scripted_cascade *self = state;
  const blis_cascade *inner = &self->inner;
  if (inner->ops->answer != NULL) {
    BLIS_TRY(inner->ops->answer(inner->state, request, output_tokens, now_us, answer, error));
  }
  cascade_call call = {
      .cascade = self, .request = request, .answer = answer, .output_tokens = output_tokens};
  return self->quality == 0
             ? BLIS_OK
             : enter(&call, "quality of cascade", self->quality, ask_quality, now_us, error);
}

/* Decision whether an answer is good enough. */

static void set_model(lua_State *L, const char *name, const blis_intern *strings,
                      const blis_cascade_attempt *attempt, uint32_t stage) {
  if (stage < attempt->stage_count) {
    lua_pushstring(L, blis_intern_text(strings, attempt->chain[stage]));
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, name);
}

static void set_when(lua_State *L, const char *name, int64_t time_us) {
  if (time_us >= 0) {
    lua_pushinteger(L, time_us);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, name);
}

void set_attempt(lua_State *L, const bind_alias *alias, const blis_cascade_attempt *attempt) {
  set_field_string(L, "model", attempt->model);
  set_field_integer(L, "step", attempt->step);
  set_field_integer(L, "stage", (int64_t)attempt->stage + 1);
  set_field_integer(L, "stages", attempt->stage_count);
  set_field_string(L, "state", blis_request_state_name(attempt->state));
  if (attempt->reason != NULL) {
    lua_pushstring(L, attempt->reason);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, "reason");
  if (attempt->instance >= 0) {
    push_alias_instance(L, alias, attempt->instance);
  } else {
    lua_pushnil(L);
  }
  lua_setfield(L, -2, "instance");
  set_field_integer(L, "start_us", bind_alias_us(alias, attempt->start_us));
  set_when(L, "ttft_us", attempt->ttft_us);
  set_field_integer(L, "end_us", bind_alias_us(alias, attempt->end_us));
  set_field_integer(L, "prompt_tokens", attempt->prompt_tokens);
  set_field_integer(L, "output_tokens", attempt->output_tokens);
  if (isnan(attempt->mean_logprob)) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, attempt->mean_logprob);
  }
  lua_setfield(L, -2, "mean_logprob");
}

/* Returns the stage of a model. It must come after the stage of the attempt. */
static uint32_t check_model(lua_State *L, int index, const cascade_call *call) {
  const blis_cascade_attempt *attempt = call->attempt;
  const blis_intern *strings = call->request->strings;
  const char *model = lua_tostring(L, index);
  lua_pushliteral(L, "");
  for (uint32_t i = attempt->stage + 1; i < attempt->stage_count; i++) {
    const char *known = blis_intern_text(strings, attempt->chain[i]);
    if (strcmp(known, model) == 0) {
      return i;
    }
    lua_pushfstring(L, "%s%s'%s'", lua_tostring(L, -1), i == attempt->stage + 1 ? "" : ", ", known);
    lua_remove(L, -2);
  }
  luaL_error(L,
             "it returned '%s', expected true, false or a later model of the "
             "chain%s%s",
             model, attempt->stage + 1 < attempt->stage_count ? ": " : "", lua_tostring(L, -1));
  return 0;
}

static int ask_escalate(lua_State *L, void *ud) {
  cascade_call *call = ud;
  const scripted_cascade *self = call->cascade;
  lua_rawgeti(L, AT_ANCHOR, self->attempt);
  set_attempt(L, &self->decider.view->hooks->alias, call->attempt);
  set_model(L, "next", call->request->strings, call->attempt, call->attempt->stage + 1);
  lua_pushboolean(L, *call->escalates);
  lua_call(L, 3, 1);
  int type = lua_type(L, -1);
  if (type == LUA_TSTRING) {
    *call->next = check_model(L, lua_gettop(L), call);
    *call->escalates = true;
  } else if (type == LUA_TBOOLEAN) {
    *call->escalates = lua_toboolean(L, -1);
  } else {
    return luaL_error(L,
                      "it returned %s, expected true, false or the model to "
                      "ask next",
                      push_what(L, -1));
  }
  return 0;
}

static blis_status escalates(void *state, const blis_routing_request *request,
                             const blis_cascade_attempt *attempt, int64_t now_us, bool *escalates,
                             uint32_t *next, blis_error *error) {
  scripted_cascade *self = state;
  const blis_cascade *inner = &self->inner;
  BLIS_TRY(inner->ops->escalates(inner->state, request, attempt, now_us, escalates, next, error));
  cascade_call call = {.cascade = self,
                       .request = request,
                       .attempt = attempt,
                       .escalates = escalates,
                       .next = next};
  return self->escalate == 0
             ? BLIS_OK
             : enter(&call, "escalate of cascade", self->escalate, ask_escalate, now_us, error);
}

static void free_state(const blis_alloc *alloc, void *state) {
  scripted_cascade *self = state;
  blis_cascade_free(&self->inner);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_cascade_ops ops = {.answer = answer, .escalates = escalates, .free = free_state};

void check_scripted_cascade(lua_State *L, int index, bind_view *view, int64_t seed,
                            blis_cascade *cascade) {
  scripted_cascade made = {.decider = {.view = view}, .seed = seed};
  const char *label = opt_field_string(L, index, "label");
  snprintf(made.decider.name, sizeof made.decider.name, "%s",
           label == NULL ? cascade->name : label);
  made.quality = push_hook_field(L, index, "quality", view->hooks);
  made.escalate = push_hook_field(L, index, "escalate", view->hooks);
  if (made.quality == 0 && made.escalate == 0) {
    return;
  }
  lua_createtable(L, 0, 16);
  made.attempt = push_hook_function(L, view->hooks);
  made.random = push_rng(L, "cascade");
  made.rng = push_hook_function(L, view->hooks);
  made.inner = *cascade;
  scripted_cascade *state = check_copy(L, &made, sizeof made);
  *cascade = (blis_cascade){.ops = &ops,
                            .state = state,
                            .alloc = bind_alloc(L),
                            .name = state->decider.name,
                            .chains = state->inner.chains,
                            .chain_count = state->inner.chain_count};
}
