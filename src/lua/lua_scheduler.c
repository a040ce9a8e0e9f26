#include "lua/lua_scheduler.h"

#include "lua/bind.h"

typedef struct scheduler_call {
  bind_scheduler *scheduler;
  const blis_live_request *requests[2];
  bool before; /* out */
} scheduler_call;

static const char *const field_names[SCHEDULER_FIELDS] = {
    "id",       "arrival_us",        "deadline_us",     "prompt_tokens",
    "priority", "max_output_tokens", "progress_tokens", "output_tokens"};

static void get_values(const blis_live_request *request, bool oracle,
                       int64_t values[SCHEDULER_FIELDS]) {
  values[0] = request->number;
  values[1] = request->arrival_us;
  values[2] = request->deadline_us;
  values[3] = request->prompt_tokens;
  values[4] = request->priority;
  values[5] = request->output_budget_tokens;
  values[6] = request->progress_tokens;
  values[7] = oracle ? request->output_tokens : -1;
}

/* Pushes the table of one of the two, written where it has changed. */
static void push_compared(lua_State *L, const scheduler_call *call, int anchor,
                          int side) {
  bind_scheduler *scheduler = call->scheduler;
  int64_t *held = scheduler->values[side];
  int64_t values[SCHEDULER_FIELDS];
  get_values(call->requests[side], scheduler->oracle, values);
  lua_rawgeti(L, anchor, scheduler->tables[side]);
  for (int i = 0; i < SCHEDULER_FIELDS; i++) {
    if (held[i] == values[i]) {
      continue;
    }
    if (i == 0) {
      push_request_id(L, values[i]);
    } else {
      lua_pushinteger(L, values[i]);
    }
    lua_setfield(L, -2, field_names[i]);
    held[i] = values[i];
  }
}

static int compare(lua_State *L) {
  enum { CALL = 1, ANCHOR };
  scheduler_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->scheduler->hooks);
  lua_rawgeti(L, ANCHOR, call->scheduler->goes_before);
  push_compared(L, call, ANCHOR, 0);
  push_compared(L, call, ANCHOR, 1);
  lua_call(L, 2, 1);
  if (lua_type(L, -1) != LUA_TBOOLEAN) {
    return luaL_error(L, "it returned a %s, expected true or false",
                      luaL_typename(L, -1));
  }
  call->before = lua_toboolean(L, -1) != 0;
  return 0;
}

blis_status bind_scheduler_goes_before(void *ud, const blis_live_request *a,
                                       const blis_live_request *b, bool *before,
                                       blis_error *error) {
  scheduler_call call = {.scheduler = ud, .requests = {a, b}};
  const blis_cluster *cluster = call.scheduler->cluster;
  const bind_hook_place place = {
      .kind = "scheduler",
      .name = "",
      .request = a->number,
      .now_us = cluster != NULL ? blis_cluster_now_us(cluster) : 0,
  };
  BLIS_TRY(bind_pcall(call.scheduler->hooks, &place, compare, &call, error));
  *before = call.before;
  return BLIS_OK;
}

static int compared_index(lua_State *L) {
  return luaL_error(L,
                    "a waiting request has no field '%s'; it has id, "
                    "arrival_us, deadline_us (0 = none), prompt_tokens, "
                    "priority, max_output_tokens and progress_tokens",
                    luaL_tolstring(L, 2, NULL));
}

void check_lua_scheduler(lua_State *L, int index, bind_hooks *hooks,
                         bool oracle, bind_scheduler *scheduler) {
  luaL_checktype(L, index, LUA_TFUNCTION);
  *scheduler = (bind_scheduler){.hooks = hooks, .oracle = oracle};
  lua_pushvalue(L, index);
  scheduler->goes_before = push_hook_function(L, hooks);
  for (int side = 0; side < 2; side++) {
    lua_createtable(L, 0, SCHEDULER_FIELDS);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, compared_index);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    scheduler->tables[side] = push_hook_function(L, hooks);
    for (int i = 0; i < SCHEDULER_FIELDS; i++) {
      scheduler->values[side][i] = i == SCHEDULER_FIELDS - 1 && !oracle
                                       ? -1 /* never shown */
                                       : INT64_MIN;
    }
  }
}
