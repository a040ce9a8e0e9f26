#include "lua/policies/queue/flow_function.h"

#include <math.h>
#include <stdio.h>

#include "lua/bind/bind.h"
#include "lua/bind/closed.h"
#include "lua/policies/builtin/builtin.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/fresh.h"

typedef struct scripted {
  bind_hooks *hooks;
  int function; /* index of the function in the anchor */
  char name[64];
} scripted;

typedef struct call {
  const scripted *self;
  const blis_saturation_look *look;
  const int32_t *priorities;
  size_t count;
  double saturation; /* out, for detectors */
  double *ceilings;  /* out */
} call;

enum { CALL = 1, ANCHOR };

static call *open_call(lua_State *L) {
  call *asked = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, asked->self->hooks);
  lua_rawgeti(L, ANCHOR, asked->self->function);
  return asked;
}

static int raise_answer(lua_State *L, const char *what, size_t item, const char *expected) {
  const char *place =
      item == 0 ? "" : lua_pushfstring(L, " as item %I of a list", (LUAI_UACINT)item);
  return luaL_error(L, "it returned %s%s, expected %s", what, place, expected);
}

/* Returns an item of the returned list; item 0 is the returned value itself. */
static double check_item(lua_State *L, int index, size_t item, const char *expected) {
  if (lua_type(L, index) != LUA_TNUMBER) {
    raise_answer(L, push_what(L, index), item, expected);
  }
  double answer = lua_tonumber(L, index);
  if (isnan(answer)) {
    raise_answer(L, "nan", item, expected);
  }
  return answer;
}

static double check_answer(lua_State *L, int index, const char *expected) {
  return check_item(L, index, 0, expected);
}

static const char *const look_names[] = {"queue_depth",      "kv_utilization", "in_flight",
                                         "in_flight_tokens", "age_us",         NULL};
static const bind_closed of_look = {"blis.SaturationInstance", "an instance at the gate",
                                    look_names, "'blis help SaturationInstance' lists the fields",
                                    NULL};

static void push_look(lua_State *L, const blis_saturation_look *look) {
  lua_createtable(L, (int)look->count, 0);
  for (size_t i = 0; i < look->count; i++) {
    lua_createtable(L, 0, 5);
    set_field_number(L, "queue_depth", look->queue_depth[i]);
    set_field_number(L, "kv_utilization", look->kv_utilization[i]);
    set_field_number(L, "in_flight", look->in_flight[i]);
    set_field_number(L, "in_flight_tokens", look->in_flight_tokens[i]);
    set_field_number(L, "age_us", look->age_us == NULL ? 0 : look->age_us[i]);
    close_table(L, &of_look);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static int measure(lua_State *L) {
  call *asked = open_call(L);
  push_look(L, asked->look);
  lua_call(L, 1, 1);
  asked->saturation = check_answer(L, lua_gettop(L), "a number, 1 = full");
  return 0;
}

static int limit_bands(lua_State *L) {
  call *asked = open_call(L);
  lua_pushnumber(L, asked->saturation);
  lua_createtable(L, (int)asked->count, 0);
  for (size_t i = 0; i < asked->count; i++) {
    lua_pushinteger(L, asked->priorities[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_call(L, 2, 1);
  int answer = lua_gettop(L);
  if (!lua_istable(L, answer)) {
    luaL_error(L, "it returned %s, expected a list of ceilings", push_what(L, answer));
  }
  for (size_t i = 0; i < asked->count; i++) {
    lua_rawgeti(L, answer, (lua_Integer)i + 1);
    asked->ceilings[i] = check_item(L, answer + 1, i + 1, "a number for each band");
    lua_settop(L, answer);
  }
  return 0;
}

static blis_status ask(call *asked, const char *kind, int64_t now_us, lua_CFunction body,
                       blis_error *error) {
  const bind_hook_place place = {.kind = kind, .name = asked->self->name, .now_us = now_us};
  return bind_pcall(asked->self->hooks, &place, body, asked, error);
}

static blis_status value(void *state, const blis_saturation_look *look, double *saturation,
                         blis_error *error) {
  call asked = {.self = state, .look = look};
  BLIS_TRY(ask(&asked, "saturation detector", look->now_us, measure, error));
  *saturation = asked.saturation;
  return BLIS_OK;
}

static blis_status ceilings(void *state, double saturation, const int32_t *priorities, size_t count,
                            double *made, blis_error *error) {
  call asked = {.self = state,
                .saturation = saturation,
                .priorities = priorities,
                .count = count,
                .ceilings = made};
  return ask(&asked, "usage limit", -1, limit_bands, error);
}

static const blis_saturation_ops saturation_ops = {.value = value};
static const blis_usage_limit_ops limit_ops = {.ceilings = ceilings};

static scripted *check_scripted(lua_State *L, int index, bind_hooks *hooks, const char *main) {
  scripted made = {.hooks = hooks};
  snprintf(made.name, sizeof made.name, "%s", check_field_string(L, index, "name"));
  made.function = push_hook_field(L, index, main, hooks);
  return check_copy(L, &made, sizeof made);
}

void check_saturation(lua_State *L, int index, bind_hooks *hooks,
                      const blis_policy_context *context, blis_saturation *saturation) {
  if (!is_scripted_policy(L, index, "measure")) {
    check_builtin_saturation(L, index, context, saturation);
    return;
  }
  check_fresh(L, index, context);
  scripted *state = check_scripted(L, index, hooks, "measure");
  *saturation = (blis_saturation){.ops = &saturation_ops,
                                  .state = state,
                                  .state_size = sizeof *state,
                                  .alloc = bind_alloc(L),
                                  .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                                           BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION) |
                                           BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                                  .name = state->name};
}

void check_usage_limit(lua_State *L, int index, bind_hooks *hooks,
                       const blis_policy_context *context, blis_usage_limit *limit) {
  if (!is_scripted_policy(L, index, "ceilings")) {
    check_builtin_usage_limit(L, index, context, limit);
    return;
  }
  check_fresh(L, index, context);
  scripted *state = check_scripted(L, index, hooks, "ceilings");
  *limit = (blis_usage_limit){.ops = &limit_ops,
                              .state = state,
                              .state_size = sizeof *state,
                              .alloc = bind_alloc(L),
                              .name = state->name};
}
