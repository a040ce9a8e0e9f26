#include "lua/engine/power.h"

#include "instance/parts/power.h"
#include "lua/bind/bind.h"

typedef struct power_call {
  const bind_power *power;
  const blis_power_step *step;
  double watts; /* out */
} power_call;

static int call_draw(lua_State *L) {
  enum { CALL = 1, ANCHOR, DRAW, STEP };
  const double watts_max = 1e6;
  power_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->power->hooks);
  lua_rawgeti(L, ANCHOR, call->power->draw);
  lua_rawgeti(L, ANCHOR, call->power->table);
  set_field_integer(L, "prefill_tokens", call->step->prefill_tokens);
  set_field_integer(L, "decode_tokens", call->step->decode_tokens);
  set_field_integer(L, "kv_tokens", call->step->kv_tokens);
  set_field_integer(L, "duration_us", call->step->duration_us);
  lua_call(L, 1, 1);
  call->watts = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || !(call->watts >= 0 && call->watts <= watts_max)) {
    return luaL_error(L, "it returned %s, expected W of a GPU from 0 to %d", push_what(L, -1),
                      (int)watts_max);
  }
  return 0;
}

static blis_status draw(void *ud, const blis_power_step *step, double *watts, blis_error *error) {
  bind_power *power = ud;
  power_call call = {.power = power, .step = step};
  const bind_hook_place place = {.kind = "gpu_step_watts", .name = "", .now_us = -1};
  BLIS_TRY(bind_pcall(power->hooks, &place, call_draw, &call, error));
  *watts = call.watts;
  return BLIS_OK;
}

void check_power_function(lua_State *L, int index, bind_hooks *hooks, bind_power *power,
                          blis_power_config *config) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "gpu_step_watts") != LUA_TNIL) {
    *power = (bind_power){.hooks = hooks};
    power->draw = push_hook_function(L, hooks);
    lua_createtable(L, 0, 4);
    power->table = push_hook_function(L, hooks);
    config->draw = draw;
    config->draw_ud = power;
  }
  lua_settop(L, top);
}

const blis_carbon_step *push_carbon(lua_State *L, int index, size_t *count) {
  int top = lua_gettop(L);
  *count = 0;
  if (lua_getfield(L, index, "carbon_steps") == LUA_TNIL) {
    return NULL;
  }
  *count = lua_rawlen(L, top + 1);
  blis_carbon_step *steps = push_buffer(L, *count, sizeof *steps);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    int step = lua_gettop(L);
    steps[i] = (blis_carbon_step){.from_us = check_field_integer(L, step, "from_us"),
                                  .g_per_kwh = check_field_number(L, step, "g_per_kwh")};
    lua_pop(L, 1);
  }
  blis_carbon_add_up(steps, *count);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return steps;
}
