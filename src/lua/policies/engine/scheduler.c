#include "lua/policies/engine/scheduler.h"

#include <stdio.h>

#include "lua/bind/bind.h"

typedef struct scheduler_call {
  bind_scheduler *scheduler;
  const blis_live_request *requests[2];
  bool before; /* out */
  const blis_running_request *running;
  size_t count;
  size_t victim; /* out */
} scheduler_call;

enum { CALL = 1, ANCHOR };

static scheduler_call *open_call(lua_State *L) {
  scheduler_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->scheduler->hooks);
  return call;
}

static blis_status enter(scheduler_call *call, const char *kind, const char *name,
                         const blis_live_request *request, lua_CFunction body, blis_error *error) {
  const blis_cluster *cluster = call->scheduler->cluster;
  bind_request_name about = {0};
  if (request != NULL) {
    about = live_request_name(request);
  }
  const bind_hook_place place = {
      .kind = kind,
      .name = name,
      .request = request != NULL ? &about : NULL,
      .now_us = cluster != NULL ? blis_cluster_now_us(cluster) : 0,
  };
  return bind_pcall(call->scheduler->hooks, &place, body, call, error);
}

static int compare(lua_State *L) {
  scheduler_call *call = open_call(L);
  bind_scheduler *scheduler = call->scheduler;
  lua_rawgeti(L, ANCHOR, scheduler->goes_before);
  for (int side = 0; side < 2; side++) {
    const blis_live_request *request = call->requests[side];
    lua_rawgeti(L, ANCHOR, scheduler->tables[side]);
    set_live_request(L, &scheduler->compared[side], scheduler->view, request,
                     request->progress_tokens);
  }
  lua_call(L, 2, 1);
  if (lua_type(L, -1) != LUA_TBOOLEAN) {
    return luaL_error(L, "it returned %s, expected true or false", push_what(L, -1));
  }
  call->before = lua_toboolean(L, -1) != 0;
  return 0;
}

blis_status bind_scheduler_goes_before(void *ud, const blis_live_request *a,
                                       const blis_live_request *b, bool *before,
                                       blis_error *error) {
  scheduler_call call = {.scheduler = ud, .requests = {a, b}};
  BLIS_TRY(enter(&call, "scheduler", call.scheduler->order_name, a, compare, error));
  *before = call.before;
  return BLIS_OK;
}

/* Makes at least count tables in their list, with their values. */
static void check_room(lua_State *L, bind_scheduler *scheduler, int tables, size_t count) {
  if (count <= scheduler->capacity) {
    return;
  }
  size_t capacity = count * 2;
  bind_live_request *shown = push_buffer(L, capacity, sizeof *shown);
  for (size_t i = 0; i < capacity; i++) {
    push_live_request(L, &shown[i], scheduler->view->oracle);
    lua_rawseti(L, tables, (lua_Integer)i + 1);
  }
  lua_rawseti(L, ANCHOR, scheduler->held);
  scheduler->shown = shown;
  scheduler->capacity = capacity;
}

/* Pushes the list of the running requests. */
static void push_running(lua_State *L, const scheduler_call *call) {
  bind_scheduler *scheduler = call->scheduler;
  lua_rawgeti(L, ANCHOR, scheduler->running);
  int list = lua_gettop(L);
  lua_rawgeti(L, ANCHOR, scheduler->spare);
  check_room(L, scheduler, list + 1, call->count);
  for (size_t i = 0; i < call->count; i++) {
    const blis_running_request *running = &call->running[i];
    lua_rawgeti(L, list + 1, (lua_Integer)i + 1);
    set_live_request(L, &scheduler->shown[i], scheduler->view, running->request,
                     running->progress_tokens);
    lua_rawseti(L, list, (lua_Integer)i + 1);
  }
  for (size_t i = call->count; i < scheduler->count; i++) {
    lua_pushnil(L);
    lua_rawseti(L, list, (lua_Integer)i + 1);
  }
  scheduler->count = call->count;
  lua_settop(L, list);
}

static int choose_victim(lua_State *L) {
  scheduler_call *call = open_call(L);
  lua_rawgeti(L, ANCHOR, call->scheduler->victim);
  push_running(L, call);
  lua_call(L, 1, 1);
  int is_integer = 0;
  lua_Integer index = lua_tointegerx(L, -1, &is_integer);
  if (lua_type(L, -1) != LUA_TNUMBER || !is_integer || index < 1 || (size_t)index > call->count) {
    return luaL_error(L,
                      "it returned %s, expected the index of a running "
                      "request, an integer from 1 to %I",
                      push_what(L, -1), (LUAI_UACINT)call->count);
  }
  call->victim = (size_t)index - 1;
  return 0;
}

blis_status bind_scheduler_victim(void *ud, const blis_running_request *running, size_t count,
                                  size_t *victim, blis_error *error) {
  scheduler_call call = {.scheduler = ud, .running = running, .count = count};
  BLIS_TRY(
      enter(&call, "preemption policy", call.scheduler->victim_name, NULL, choose_victim, error));
  *victim = call.victim;
  return BLIS_OK;
}

void bind_scheduler_init(bind_scheduler *scheduler, const bind_view *view) {
  *scheduler = (bind_scheduler){.view = view, .hooks = view->hooks};
}

void check_goes_before(lua_State *L, int index, bind_scheduler *scheduler) {
  snprintf(scheduler->order_name, sizeof scheduler->order_name, "%s",
           check_field_string(L, index, "name"));
  scheduler->goes_before = push_hook_field(L, index, "goes_before", scheduler->hooks);
  for (int side = 0; side < 2; side++) {
    push_live_request(L, &scheduler->compared[side], scheduler->view->oracle);
    scheduler->tables[side] = push_hook_function(L, scheduler->hooks);
  }
}

void check_victim(lua_State *L, int index, bind_scheduler *scheduler) {
  snprintf(scheduler->victim_name, sizeof scheduler->victim_name, "%s",
           check_field_string(L, index, "name"));
  scheduler->victim = push_hook_field(L, index, "victim", scheduler->hooks);
  lua_newtable(L);
  scheduler->running = push_hook_function(L, scheduler->hooks);
  lua_newtable(L);
  scheduler->spare = push_hook_function(L, scheduler->hooks);
  lua_pushboolean(L, 0);
  scheduler->held = push_hook_function(L, scheduler->hooks);
}
