#include "lua/policies/engine/scheduler.h"

#include <stdio.h>

#include "lua/bind/bind.h"

typedef struct scheduler_call {
  bind_instance_order *order;
  const blis_live_request *requests[2];
  bool before; /* out */
  const blis_running_request *running;
  size_t count;
  size_t victim; /* out */
} scheduler_call;

enum { CALL = 1, ANCHOR };

static scheduler_call *open_call(lua_State *L) {
  scheduler_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->order->scheduler->hooks);
  return call;
}

static blis_status enter(scheduler_call *call, const char *kind, const char *name,
                         const blis_live_request *request, lua_CFunction body, blis_error *error) {
  const bind_scheduler *scheduler = call->order->scheduler;
  const blis_cluster *cluster = scheduler->cluster;
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
  return bind_pcall(scheduler->hooks, &place, body, call, error);
}

/* Creates the tables of the two requests that goes_before compares. */
static void make_compared(lua_State *L, bind_instance_order *order) {
  for (int side = 0; side < 2; side++) {
    push_live_request(L, &order->compared[side], order->scheduler->view->oracle);
    order->tables[side] = push_hook_function(L, order->scheduler->hooks);
  }
}

static int compare(lua_State *L) {
  scheduler_call *call = open_call(L);
  bind_instance_order *order = call->order;
  if (order->tables[0] == 0) {
    make_compared(L, order);
  }
  push_instance_function(L, ANCHOR, order->scheduler->goes_before, order->index);
  for (int side = 0; side < 2; side++) {
    const blis_live_request *request = call->requests[side];
    lua_rawgeti(L, ANCHOR, order->tables[side]);
    set_live_request(L, &order->compared[side], order->scheduler->view, request,
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
  scheduler_call call = {.order = ud, .requests = {a, b}};
  BLIS_TRY(enter(&call, "scheduler", call.order->scheduler->order_name, a, compare, error));
  *before = call.before;
  return BLIS_OK;
}

/* Creates at least count tables in the list `spare`, with their values. */
static void check_room(lua_State *L, bind_instance_order *order, int tables, size_t count) {
  if (count <= order->capacity) {
    return;
  }
  size_t capacity = count * 2;
  bind_live_request *shown = push_buffer(L, capacity, sizeof *shown);
  for (size_t i = 0; i < capacity; i++) {
    push_live_request(L, &shown[i], order->scheduler->view->oracle);
    lua_rawseti(L, tables, (lua_Integer)i + 1);
  }
  lua_rawseti(L, ANCHOR, order->held);
  order->shown = shown;
  order->capacity = capacity;
}

/* Creates the list that is passed to victim. */
static void make_running(lua_State *L, bind_instance_order *order) {
  bind_hooks *hooks = order->scheduler->hooks;
  lua_newtable(L);
  order->running = push_hook_function(L, hooks);
  lua_newtable(L);
  order->spare = push_hook_function(L, hooks);
  lua_pushboolean(L, 0);
  order->held = push_hook_function(L, hooks);
}

/* Pushes the list of the running requests. */
static void push_running(lua_State *L, const scheduler_call *call) {
  bind_instance_order *order = call->order;
  if (order->running == 0) {
    make_running(L, order);
  }
  lua_rawgeti(L, ANCHOR, order->running);
  int list = lua_gettop(L);
  lua_rawgeti(L, ANCHOR, order->spare);
  check_room(L, order, list + 1, call->count);
  for (size_t i = 0; i < call->count; i++) {
    const blis_running_request *running = &call->running[i];
    lua_rawgeti(L, list + 1, (lua_Integer)i + 1);
    set_live_request(L, &order->shown[i], order->scheduler->view, running->request,
                     running->progress_tokens);
    lua_rawseti(L, list, (lua_Integer)i + 1);
  }
  for (size_t i = call->count; i < order->count; i++) {
    lua_pushnil(L);
    lua_rawseti(L, list, (lua_Integer)i + 1);
  }
  order->count = call->count;
  lua_settop(L, list);
}

static int choose_victim(lua_State *L) {
  scheduler_call *call = open_call(L);
  push_instance_function(L, ANCHOR, call->order->scheduler->victim, call->order->index);
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
  scheduler_call call = {.order = ud, .running = running, .count = count};
  BLIS_TRY(enter(&call, "preemption policy", call.order->scheduler->victim_name, NULL,
                 choose_victim, error));
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
}

void check_victim(lua_State *L, int index, bind_scheduler *scheduler) {
  snprintf(scheduler->victim_name, sizeof scheduler->victim_name, "%s",
           check_field_string(L, index, "name"));
  scheduler->victim = push_hook_field(L, index, "victim", scheduler->hooks);
}
