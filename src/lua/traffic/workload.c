#include "lua/traffic/workload.h"

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/traffic/request_table.h"
#include "workload/statistics.h"

blis_workload **push_workload(lua_State *L) {
  blis_workload **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  luaL_setmetatable(L, WORKLOAD_TYPE);
  return self;
}

const blis_workload *check_workload(lua_State *L, int index) {
  blis_workload **self = luaL_checkudata(L, index, WORKLOAD_TYPE);
  luaL_argcheck(L, *self != NULL, index, "the workload is empty");
  return *self;
}

/* There is no close: simulations read from it as long as they live. */
static int workload_gc(lua_State *L) {
  blis_workload **self = luaL_checkudata(L, 1, WORKLOAD_TYPE);
  blis_workload_free(*self);
  *self = NULL;
  return 0;
}

static int source_close(lua_State *L) {
  bind_source_close(lua_touserdata(L, 1));
  return 0;
}

/* Adds a list of texts to the notes. */
static void add_notes(lua_State *L, int list, blis_workload *workload) {
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
    check_status(L, blis_workload_note(workload, "%s", luaL_checkstring(L, -1)),
                 NULL);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

int bind_workload_new(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  bind_source *source = push_guarded(L, 1, sizeof *source, source_close);
  blis_workload **self = push_workload(L);
  check_source(L, 1, source);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status =
      blis_workload_collect(&alloc, &source->source, SIZE_MAX, self, &error);
  bind_source_close(source);
  check_status(L, status, &error);
  check_status(L, blis_workload_describe(*self, "generated requests"), NULL);
  add_notes(L, 2, *self);
  return 1;
}

static void set_lengths(lua_State *L, const char *name,
                        const blis_length_statistics *lengths) {
  lua_createtable(L, 0, 7);
  set_field_integer(L, "sum", lengths->sum);
  set_field_number(L, "mean", lengths->mean);
  set_field_integer(L, "min", lengths->min);
  set_field_integer(L, "p50", lengths->p50);
  set_field_integer(L, "p90", lengths->p90);
  set_field_integer(L, "p99", lengths->p99);
  set_field_integer(L, "max", lengths->max);
  lua_setfield(L, -2, name);
}

uint32_t check_block_size(lua_State *L) {
  lua_Integer block_size = luaL_optinteger(L, 2, 16);
  luaL_argcheck(L, block_size >= 1 && block_size <= UINT32_MAX, 2,
                "a block has at least one token");
  return (uint32_t)block_size;
}

void push_statistics(lua_State *L, const blis_workload_statistics *measured,
                     lua_Integer block_size) {
  lua_createtable(L, 0, 19);
  set_field_integer(L, "requests", measured->count);
  set_field_integer(L, "first_arrival_us", measured->first_arrival_us);
  set_field_integer(L, "last_arrival_us", measured->last_arrival_us);
  set_field_number(L, "requests_per_sec", measured->requests_per_sec);
  set_field_integer(L, "busiest_second", measured->busiest_second);
  set_field_number(L, "gap_cv", measured->gap_cv);
  set_lengths(L, "prompt_tokens", &measured->prompt);
  set_lengths(L, "output_tokens", &measured->output);
  set_field_integer(L, "block_size", block_size);
  set_field_integer(L, "reused_tokens", measured->reused_tokens);
  set_field_number(L, "reused_share", measured->reused_share);
  set_field_integer(L, "shareable_blocks", measured->shareable_blocks);
  set_field_integer(L, "tenants", measured->tenants);
  set_field_integer(L, "slo_classes", measured->slo_classes);
  set_field_integer(L, "models", measured->models);
  set_field_integer(L, "sessions", measured->sessions);
  set_field_integer(L, "clients", measured->clients);
  set_field_integer(L, "prefix_groups", measured->prefix_groups);
  set_lengths(L, "turns", &measured->turns);
}

/* workload:statistics([block_size]) */
static int workload_statistics(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  uint32_t block_size = check_block_size(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_workload_statistics measured;
  check_status(
      L, blis_workload_measure(&alloc, workload, block_size, &measured, &error),
      &error);
  push_statistics(L, &measured, block_size);
  return 1;
}

static void set_text(lua_State *L, const char *name, const blis_intern *strings,
                     uint32_t id) {
  lua_pushlstring(L, blis_intern_text(strings, id),
                  blis_intern_length(strings, id));
  lua_setfield(L, -2, name);
}

void push_recorded_request(lua_State *L, const blis_request *request,
                           const blis_intern *strings) {
  lua_createtable(L, 0, 19);
  const bind_request_name name = {
      .number = request->number,
      .session = blis_intern_text(strings, request->session),
      .round_index = request->round_index};
  push_request_id(L, &name);
  lua_setfield(L, -2, "id");
  set_field_integer(L, "arrival_us", request->arrival_us);
  if (request->deadline_us != 0) {
    set_field_integer(L, "deadline_us", request->deadline_us);
  }
  set_field_integer(L, "prompt_tokens", request->prompt_tokens);
  set_field_integer(L, "output_tokens", request->output_tokens);
  set_field_integer(L, "max_output_tokens", request->max_output_tokens);
  set_field_integer(L, "shared_tokens", request->shared_tokens);
  set_text(L, "tenant", strings, request->tenant);
  set_text(L, "slo_class", strings, request->slo_class);
  set_text(L, "model", strings, request->model);
  set_text(L, "session", strings, request->session);
  set_text(L, "client", strings, request->client);
  set_text(L, "adapter", strings, request->adapter);
  if (request->cascade != 0) {
    set_text(L, "cascade", strings, request->cascade);
  }
  if (request->mean_logprob != 0) {
    set_text(L, "mean_logprob", strings, request->mean_logprob);
  }
  set_text(L, "prefix_group", strings, request->prefix_group);
  set_field_integer(L, "prefix_tokens", request->prefix_tokens);
  set_field_integer(L, "round_index", request->round_index);
}

void push_workload_request(lua_State *L, const blis_workload *workload,
                           size_t index) {
  push_recorded_request(L, blis_workload_request(workload, index),
                        blis_workload_strings(workload));
}

/* Iterator: the request after the one with the number of the control value. */
static int next_request(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  lua_Integer index = luaL_checkinteger(L, 2);
  if (index < 0 || (size_t)index >= blis_workload_count(workload)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, index + 1);
  push_workload_request(L, workload, (size_t)index);
  return 2;
}

/* for i, request in workload:requests() do */
static int workload_requests(lua_State *L) {
  check_workload(L, 1);
  lua_pushcfunction(L, next_request);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

/* workload[i] is a request; workload.name a method, of C or of Lua. */
static int workload_index(lua_State *L) {
  if (!lua_isinteger(L, 2)) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
      return luaL_error(L, "a workload has no field '%s'",
                        luaL_tolstring(L, 2, NULL));
    }
    return 1;
  }
  const blis_workload *workload = check_workload(L, 1);
  lua_Integer index = lua_tointeger(L, 2);
  if (index < 1 || (size_t)index > blis_workload_count(workload)) {
    lua_pushnil(L);
  } else {
    push_workload_request(L, workload, (size_t)index - 1);
  }
  return 1;
}

void push_notes(lua_State *L, const blis_workload *workload) {
  lua_newtable(L);
  for (size_t i = 0; i < blis_workload_note_count(workload); i++) {
    lua_pushstring(L, blis_workload_note_text(workload, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* workload:notes(): what a user should hear of the input. */
static int workload_notes(lua_State *L) {
  push_notes(L, check_workload(L, 1));
  return 1;
}

/* workload:last_arrival_us(): 0 when there are no requests. */
static int workload_last_arrival_us(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  size_t count = blis_workload_count(workload);
  lua_pushinteger(
      L,
      count > 0 ? blis_workload_request(workload, count - 1)->arrival_us : 0);
  return 1;
}

static int workload_description(lua_State *L) {
  lua_pushstring(L, blis_workload_description(check_workload(L, 1)));
  return 1;
}

/* workload:slice(first, count): another workload of some of the requests. */
static int workload_slice(lua_State *L) {
  const blis_workload *workload = check_workload(L, 1);
  lua_Integer first = luaL_checkinteger(L, 2);
  lua_Integer count = luaL_checkinteger(L, 3);
  luaL_argcheck(L, first >= 1, 2, "the first request is number 1");
  luaL_argcheck(L, count >= 0, 3, "a count is not negative");
  blis_workload **slice = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L,
               blis_workload_slice(&alloc, workload, (size_t)first - 1,
                                   (size_t)count, slice, &error),
               &error);
  return 1;
}

static int workload_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)blis_workload_count(check_workload(L, 1)));
  return 1;
}

static const luaL_Reg workload_meta[] = {
    {"__gc", workload_gc},
    {"__len", workload_len},
    {NULL, NULL},
};

static const luaL_Reg workload_methods[] = {
    {"statistics", workload_statistics},
    {"requests", workload_requests},
    {"notes", workload_notes},
    {"description", workload_description},
    {"last_arrival_us", workload_last_arrival_us},
    {"slice", workload_slice},
    {"map", bind_workload_map},
    {NULL, NULL},
};

int bind_workload_methods(lua_State *L) {
  luaL_getmetatable(L, WORKLOAD_TYPE);
  lua_getfield(L, -1, "methods");
  return 1;
}

void bind_open_workloads(lua_State *L) {
  push_new_type(L, WORKLOAD_TYPE, workload_meta, NULL);
  luaL_newlib(L, workload_methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "methods");
  lua_pushcclosure(L, workload_index, 1);
  lua_setfield(L, -2, "__index");
  set_list_pairs(L);
  lua_pop(L, 1);
}
