#include "lua/policies/scaling/autoscaler.h"

#include <stdio.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/deprecated.h"
#include "lua/policies/builtin/builtin.h"
#include "lua/policies/scaling/scale_context.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/fresh.h"

enum { REASON_SIZE = 160 };

/* Deprecated name of unconstrained_target, accepted until 2.0.0. */
#define OLD_NAME "wish"

typedef struct scripted_autoscaler {
  bind_hooks *hooks;
  int function; /* index of the function in the anchor */
  char name[64];
  char reason[REASON_SIZE];
  bind_scale_samples samples;
} scripted_autoscaler;

typedef struct scale_call {
  scripted_autoscaler *autoscaler;
  const blis_scale_context *context;
  blis_scale_decision *decision;
} scale_call;

static void check_target(lua_State *L, int index, scale_call *call) {
  int is_whole = 0;
  lua_Integer target = lua_tointegerx(L, index, &is_whole);
  if (lua_type(L, index) != LUA_TNUMBER || !is_whole) {
    luaL_error(L,
               "it returned %s, expected a whole number of "
               "instances, " BIND_SCALE_ANSWER ", or nil for no change",
               push_what(L, index));
  }
  call->decision->target = target;
}

static void check_reason(lua_State *L, int index, scale_call *call) {
  if (lua_isnil(L, index)) {
    return;
  }
  scripted_autoscaler *self = call->autoscaler;
  check_reason_text(L, index, self->reason, REASON_SIZE);
  call->decision->reason = self->reason;
}

/* Reads unconstrained_target, or its deprecated name, from the table at answer. */
static void check_unconstrained(lua_State *L, int answer, scale_call *call) {
  if (lua_getfield(L, answer, OLD_NAME) != LUA_TNIL) {
    note_deprecated(L, "autoscaler", OLD_NAME, "unconstrained_target");
  } else {
    lua_getfield(L, answer, "unconstrained_target");
  }
  int is_whole = 0;
  lua_Integer target = lua_tointegerx(L, -1, &is_whole);
  bool is_valid = lua_type(L, -1) == LUA_TNUMBER && is_whole && target >= 0;
  if (!lua_isnil(L, -1) && !is_valid) {
    luaL_error(L,
               "it returned the unconstrained_target %s, expected a whole number of instances "
               "of at least 0, or nil for the target",
               push_what(L, -1));
  }
  call->decision->wish = is_valid ? target : -1;
}

static bool is_member(const char *name) {
  static const char *const names[] = {"target", "reason", "unconstrained_target", OLD_NAME};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

static void check_keys(lua_State *L, int answer) {
  lua_pushnil(L);
  while (lua_next(L, answer) != 0) {
    lua_pop(L, 1);
    bool is_known = lua_type(L, -1) == LUA_TSTRING && is_member(lua_tostring(L, -1));
    if (!is_known) {
      luaL_error(L,
                 "it returned a table with an unknown member, %s; "
                 "expected " BIND_SCALE_ANSWER,
                 push_what(L, -1));
    }
  }
}

static int ask(lua_State *L) {
  enum { CALL = 1, ANCHOR };
  scale_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->autoscaler->hooks);
  lua_rawgeti(L, ANCHOR, call->autoscaler->function);
  push_scale_context(L, &call->autoscaler->hooks->alias, call->context, &call->autoscaler->samples);
  lua_call(L, 1, 1);
  int answer = lua_gettop(L);
  if (lua_isnil(L, answer)) {
    return 0;
  }
  if (lua_istable(L, answer)) {
    check_keys(L, answer);
    if (lua_getfield(L, answer, "target") == LUA_TNIL) {
      return luaL_error(L, "it returned a table without target, expected a whole number of "
                           "instances, " BIND_SCALE_ANSWER ", or nil for no change");
    }
    check_target(L, answer + 1, call);
    lua_getfield(L, answer, "reason");
    check_reason(L, answer + 2, call);
    check_unconstrained(L, answer, call);
  } else {
    check_target(L, answer, call);
  }
  return 0;
}

static blis_status decide(void *state, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  scripted_autoscaler *self = state;
  scale_call call = {self, context, decision};
  const bind_hook_place place = {
      .kind = "autoscaler", .name = self->name, .now_us = context->now_us};
  return bind_pcall(self->hooks, &place, ask, &call, error);
}

static const blis_autoscaler_ops ops = {.decide = decide};

/* Returns the needs of the autoscaler: the pools, and the metrics in the field `metrics`, or all
   metrics if it is not set. */
static blis_scale_needs check_needs(lua_State *L, int index) {
  if (lua_getfield(L, index, "metrics") == LUA_TNIL) {
    lua_pop(L, 1);
    return BLIS_SCALE_NEEDS_ALL;
  }
  int list = lua_gettop(L);
  luaL_checktype(L, list, LUA_TTABLE);
  blis_scale_needs needs = BLIS_SCALE_NEEDS_POOLS;
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
    blis_scale_metric metric;
    blis_error error = {0};
    check_status(L, blis_scale_metric_find(luaL_checkstring(L, -1), &metric, &error), &error);
    needs |= BLIS_SCALE_BIT(metric);
    lua_pop(L, 1);
  }
  lua_settop(L, list - 1);
  return needs;
}

static void check_scripted(lua_State *L, int index, bind_hooks *hooks,
                           blis_autoscaler *autoscaler) {
  scripted_autoscaler made = {.hooks = hooks};
  snprintf(made.name, sizeof made.name, "%s", check_field_string(L, index, "name"));
  made.function = push_hook_field(L, index, "decide", hooks);
  int64_t interval_us = check_field_integer(L, index, "interval_us");
  blis_scale_needs needs = check_needs(L, index);
  scripted_autoscaler *state = check_copy(L, &made, sizeof made);
  *autoscaler = (blis_autoscaler){.ops = &ops,
                                  .state = state,
                                  .state_size = sizeof *state,
                                  .alloc = bind_alloc(L),
                                  .needs = needs,
                                  .interval_us = interval_us,
                                  .name = state->name};
}

void check_autoscaler(lua_State *L, int index, bind_hooks *hooks,
                      const blis_policy_context *context, blis_autoscaler *autoscaler) {
  luaL_checktype(L, index, LUA_TTABLE);
  if (is_scripted_policy(L, index, "decide")) {
    check_fresh(L, index, context);
    check_scripted(L, index, hooks, autoscaler);
  } else {
    check_builtin_autoscaler(L, index, context, autoscaler);
  }
}
