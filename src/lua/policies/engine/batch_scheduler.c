#include "lua/policies/engine/batch_scheduler.h"

#include <stdio.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/engine/live_request.h"

typedef struct batch_call {
  const bind_instance_batches *self;
  const blis_batch_context *context;
  blis_batch_plan *plan;
  const blis_live_request *request; /* the request that arrived */
  int64_t now_us;
} batch_call;

/* Stack indices in a call of make_batch. */
enum { CALL = 1, ANCHOR, PLACES, RESULT };

bool is_batch_scheduler(lua_State *L, int index) {
  bool is_one = lua_getfield(L, index, "make_batch") != LUA_TNIL;
  lua_pop(L, 1);
  return is_one;
}

void check_batch_scheduler(lua_State *L, int index, const bind_view *view,
                           bind_batch_scheduler *scheduler) {
  *scheduler = (bind_batch_scheduler){.view = view, .hooks = view->hooks};
  snprintf(scheduler->name, sizeof scheduler->name, "%s", check_field_string(L, index, "name"));
  scheduler->make_batch = push_hook_field(L, index, "make_batch", scheduler->hooks);
  scheduler->on_arrival = push_hook_field(L, index, "on_arrival", scheduler->hooks);
}

static void push_request(lua_State *L, const bind_batch_scheduler *scheduler,
                         const blis_live_request *request, int64_t progress_tokens) {
  const bind_view *view = scheduler->view;
  bind_live_request held;
  push_live_request(L, &held, view->oracle);
  set_live_request(L, &held, view, request, progress_tokens);
}

/* Sets a list of requests in the table on top of the stack, and stores their positions. */
static void set_requests(lua_State *L, const batch_call *call, const char *name,
                         const blis_running_request *requests, size_t count, size_t first) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_request(L, call->self->scheduler, requests[i].request, requests[i].progress_tokens);
    lua_pushvalue(L, -1);
    lua_pushinteger(L, (lua_Integer)(first + i));
    lua_rawset(L, PLACES);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, name);
}

static void push_context(lua_State *L, const batch_call *call) {
  const blis_batch_context *c = call->context;
  const bind_alias *alias = &call->self->scheduler->hooks->alias;
  lua_createtable(L, 0, 9);
  set_field_integer(L, "now_us", bind_alias_us(alias, c->now_us));
  set_field_integer(L, "free_kv_blocks", c->free_kv_blocks);
  set_field_integer(L, "kv_blocks", c->config->kv_blocks);
  set_field_integer(L, "block_size", c->config->block_size_tokens);
  set_field_integer(L, "max_num_seqs", c->config->max_num_seqs);
  set_field_integer(L, "max_num_batched_tokens", c->config->max_batched_tokens);
  push_alias_instance(L, alias, call->self->index);
  lua_setfield(L, -2, "instance");
  set_requests(L, call, "running", c->running, c->running_count, 0);
  set_requests(L, call, "waiting", c->waiting, c->waiting_count, c->running_count);
}

/* Returns the index of the request on top of the stack; -1 if the value is not a request. */
static lua_Integer place_of(lua_State *L) {
  lua_Integer place = -1;
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_pushvalue(L, -1);
    if (lua_rawget(L, PLACES) == LUA_TNUMBER) {
      place = lua_tointeger(L, -1);
    }
    lua_pop(L, 1);
  }
  return place;
}

static size_t check_place(lua_State *L, const char *list, lua_Integer i) {
  lua_Integer place = place_of(L);
  if (place < 0) {
    luaL_error(L,
               "%s[%I] is %s, expected a request of context.running or "
               "context.waiting, as this call has them",
               list, (LUAI_UACINT)i, push_what(L, -1));
  }
  return (size_t)place;
}

/* Reads the item on top of the stack: a request, or { request, tokens }. */
static blis_batch_entry check_entry(lua_State *L, lua_Integer i) {
  if (lua_type(L, -1) != LUA_TTABLE || place_of(L) >= 0) {
    return (blis_batch_entry){.index = check_place(L, "schedule", i)};
  }
  int item = lua_gettop(L);
  if (lua_rawgeti(L, item, 1) == LUA_TNIL) {
    lua_settop(L, item);
    (void)check_place(L, "schedule", i); /* raises if the request is from an earlier call */
  }
  lua_settop(L, item);
  lua_rawgeti(L, item, 2);
  int is_integer = 0;
  lua_Integer tokens = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || tokens < 1) {
    luaL_error(L,
               "schedule[%I] has %s tokens, expected { request, tokens } with "
               "an integer of at least 1",
               (LUAI_UACINT)i, push_what(L, -1));
  }
  lua_rawgeti(L, item, 1);
  blis_batch_entry entry = {.index = check_place(L, "schedule", i), .tokens = tokens};
  lua_settop(L, item);
  return entry;
}

/*
 * Returns the length of the list on top of the stack. Raises for a table with named fields or
 * holes, because { first = request } would otherwise count as an empty list.
 */
static lua_Integer check_list(lua_State *L, const char *name) {
  if (!lua_istable(L, -1)) {
    luaL_error(L, "%s is %s, expected a list of requests", name, push_what(L, -1));
  }
  int list = lua_gettop(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, list);
  lua_pushnil(L);
  while (lua_next(L, list) != 0) {
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1 || lua_tointeger(L, -1) > count) {
      luaL_error(L,
                 "%s has the key %s, expected a list of requests: { first, "
                 "second }",
                 name, push_what(L, -1));
    }
  }
  return count;
}

static void check_schedule(lua_State *L, const batch_call *call) {
  const blis_batch_context *c = call->context;
  size_t all = c->running_count + c->waiting_count;
  bool *is_there = push_buffer(L, all, sizeof *is_there);
  if (lua_getfield(L, RESULT, "schedule") == LUA_TNIL) {
    return;
  }
  int list = lua_gettop(L);
  lua_Integer count = check_list(L, "schedule");
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, list, i);
    blis_batch_entry entry = check_entry(L, i);
    if (is_there[entry.index]) {
      luaL_error(L, "schedule[%I]: duplicate request", (LUAI_UACINT)i);
    }
    is_there[entry.index] = true;
    call->plan->entries[call->plan->count++] = entry;
    lua_settop(L, list);
  }
}

static void check_preempt(lua_State *L, const batch_call *call) {
  if (lua_getfield(L, RESULT, "preempt") == LUA_TNIL) {
    return;
  }
  int list = lua_gettop(L);
  lua_Integer count = check_list(L, "preempt");
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, list, i);
    size_t place = check_place(L, "preempt", i);
    if (place >= call->context->running_count) {
      luaL_error(L, "preempt[%I] does not run", (LUAI_UACINT)i);
    }
    call->plan->preempted[place] = true;
    lua_settop(L, list);
  }
}

static void check_keys(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, RESULT) != 0) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number";
    if (strcmp(key, "schedule") != 0 && strcmp(key, "preempt") != 0 &&
        strcmp(key, "wait_us") != 0) {
      luaL_error(L,
                 "it returned a table with '%s'; a batch has schedule, preempt "
                 "and wait_us",
                 key);
    }
    lua_pop(L, 1);
  }
}

static int make_batch(lua_State *L) {
  const batch_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->self->scheduler->hooks);
  lua_newtable(L); // [call, anchor, places]
  push_instance_function(L, ANCHOR, call->self->scheduler->make_batch, call->self->index);
  push_context(L, call);
  lua_call(L, 1, 1);
  if (lua_type(L, RESULT) != LUA_TTABLE) {
    return luaL_error(L, "it returned %s, expected { schedule = {...} }", push_what(L, RESULT));
  }
  check_keys(L);
  check_schedule(L, call);
  check_preempt(L, call);
  int64_t wait_us = opt_field_integer(L, RESULT, "wait_us", BLIS_PLAN_WAIT_US);
  if (wait_us < 1) {
    return luaL_error(L, "wait_us is %I, expected at least 1", (LUAI_UACINT)wait_us);
  }
  call->plan->wait_us = wait_us;
  return 0;
}

blis_status bind_make_batch(void *ud, const blis_batch_context *context, blis_batch_plan *plan,
                            blis_error *error) {
  const bind_instance_batches *self = ud;
  batch_call call = {.self = self, .context = context, .plan = plan};
  const bind_hook_place place = {
      .kind = "scheduler", .name = self->scheduler->name, .now_us = context->now_us};
  return bind_pcall(self->scheduler->hooks, &place, make_batch, &call, error);
}

static int arrive(lua_State *L) {
  const batch_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->self->scheduler->hooks);
  push_instance_function(L, ANCHOR, call->self->scheduler->on_arrival, call->self->index);
  push_request(L, call->self->scheduler, call->request, call->request->progress_tokens);
  lua_pushinteger(L, bind_alias_us(&call->self->scheduler->hooks->alias, call->now_us));
  lua_call(L, 2, 0);
  return 0;
}

blis_status bind_request_queued(void *ud, const blis_live_request *request, int64_t now_us,
                                blis_error *error) {
  const bind_instance_batches *self = ud;
  batch_call call = {.self = self, .request = request, .now_us = now_us};
  const bind_request_name name = live_request_name(request);
  const bind_hook_place place = {
      .kind = "scheduler", .name = self->scheduler->name, .request = &name, .now_us = now_us};
  return bind_pcall(self->scheduler->hooks, &place, arrive, &call, error);
}
