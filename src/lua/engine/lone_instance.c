#include "lua/engine/lone_instance.h"

#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "base/pool.h"
#include "base/time.h"
#include "instance/instance.h"
#include "instance/request/slo_priority.h"
#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/engine/engine.h"
#include "lua/traffic/content.h"
#include "lua/traffic/workload.h"
#include "workload/block_namer.h"

#define LONE_INSTANCE_TYPE "blis.lone_instance"

/* User values: the options (the engine borrows names from them), the record of every request on
   the instance by slot + 1, and these records by ID and number. */
enum { OPTIONS = 1, RECORDS, KNOWN, USER_VALUES = KNOWN };

/* A request on the instance, in order of arrival, or a finished one. */
typedef struct held {
  blis_live_request live; /* must be the first member: events point to it */
  int64_t end_us;
  struct held *earlier;
  struct held *later;
} held;

typedef struct held_list {
  held *first;
  held *last;
} held_list;

/* Zeroed before any resource is acquired. */
typedef struct lone {
  blis_alloc alloc;
  bind_engine engine;
  blis_instance *instance; /* NULL before creation and after closing */
  blis_block_namer *namer;
  blis_intern *contents; /* names of contents are used as streams */
  blis_slo_priority *priorities;
  blis_pool pool;
  held_list here;
  held_list over; /* requests that have ended since the step began */
  int64_t now_us;
  int64_t last_number;
} lone;

static lone *check_lone(lua_State *L) {
  lone *self = luaL_checkudata(L, 1, LONE_INSTANCE_TYPE);
  luaL_argcheck(L, self->instance != NULL, 1, "the instance is closed");
  return self;
}

static int lone_gc(lua_State *L) {
  lone *self = luaL_checkudata(L, 1, LONE_INSTANCE_TYPE);
  blis_instance_free(self->instance);
  self->instance = NULL;
  blis_block_namer_free(self->namer);
  self->namer = NULL;
  blis_intern_free(self->contents);
  self->contents = NULL;
  blis_slo_priority_free(self->priorities);
  self->priorities = NULL;
  blis_pool_deinit(&self->pool);
  bind_engine_close(&self->engine);
  return 0;
}

static void append(held_list *list, held *request) {
  request->earlier = list->last;
  request->later = NULL;
  *(list->last != NULL ? &list->last->later : &list->first) = request;
  list->last = request;
}

static void take_out(held_list *list, held *request) {
  held *earlier = request->earlier;
  held *later = request->later;
  *(earlier != NULL ? &earlier->later : &list->first) = later;
  *(later != NULL ? &later->earlier : &list->last) = earlier;
}

/* Called when the instance returns a request. Lua is notified after the step. */
static blis_status on_ended(void *ud, blis_live_request *live, int64_t now_us, int64_t end_us,
                            blis_error *error) {
  (void)now_us;
  (void)error;
  lone *self = ud;
  held *request = (held *)(void *)live;
  request->end_us = end_us;
  take_out(&self->here, request);
  append(&self->over, request);
  return BLIS_OK;
}

static void check_parts(lua_State *L, lone *self) {
  self->alloc = bind_alloc(L);
  blis_pool_init(&self->pool, &self->alloc, sizeof(held));
  check_engine(L, 1, &self->engine);
  if (self->engine.latency.ops == NULL) {
    luaL_error(L, "cluster.latency_model: an instance without a cluster supports "
                  "only the built-in latency models");
  }
  self->namer = blis_block_namer_new(&self->alloc);
  self->contents = blis_intern_new(&self->alloc);
  if (self->namer == NULL || self->contents == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  blis_error error = {0};
  check_status(L, blis_slo_priority_new(&self->alloc, NULL, 0, &self->priorities, &error), &error);
  self->engine.config.power = NULL; /* not requested */
  const blis_instance_events events = {.ud = self, .ended = on_ended};
  check_status(
      L, blis_instance_new(&self->alloc, &self->engine.config, &events, &self->instance, &error),
      &error);
}

int bind_lone_instance_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lone *self = lua_newuserdatauv(L, sizeof *self, USER_VALUES);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, LONE_INSTANCE_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, OPTIONS);
  lua_newtable(L);
  lua_setiuservalue(L, 2, RECORDS);
  lua_newtable(L);
  lua_setiuservalue(L, 2, KNOWN);
  check_parts(L, self);
  lua_settop(L, 2);
  return 1;
}

/* Requests. */

static blis_status name_content(void *ud, const char *name, size_t length, uint32_t *stream) {
  return blis_intern_add(ud, name, length, stream);
}

/* The fields of a described request. Records also have these fields. */
typedef enum field_kind { WHOLE, TEXT, NUMBER, ANY } field_kind;

static const struct {
  const char *name;
  field_kind kind;
  int64_t max;
} described[] = {{"id", TEXT, 0},
                 {"number", WHOLE, INT64_MAX - 1},
                 {"arrival_us", WHOLE, INT64_MAX - 1},
                 {"deadline_us", WHOLE, INT64_MAX},
                 {"content", ANY, 0},
                 {"slo_class", TEXT, 0},
                 {"prompt_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
                 {"output_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
                 {"priority", NUMBER, 0},
                 {"tenant", TEXT, 0},
                 {"model", TEXT, 0},
                 {"max_output_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
                 {"session", TEXT, 0},
                 {"client", TEXT, 0},
                 {"prefix_group", TEXT, 0},
                 {"prefix_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
                 {"round_index", WHOLE, INT32_MAX},
                 {"adapter", TEXT, 0},
                 {"cascade", ANY, 0},
                 {"mean_logprob", ANY, 0},
                 {"shared_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS}};

enum { DESCRIBED = sizeof described / sizeof *described };

/* Returns the index of the field whose name is below the top of the stack. */
static size_t check_key(lua_State *L) {
  if (lua_type(L, -2) != LUA_TSTRING) {
    luaL_error(L, "a request has named fields: { prompt_tokens = 100, "
                  "output_tokens = 10 }");
  }
  const char *name = lua_tostring(L, -2);
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < DESCRIBED; i++) {
    if (strcmp(described[i].name, name) == 0) {
      return i;
    }
    blis_nearest_offer(&nearest, described[i].name);
  }
  blis_suggestion suggestion =
      blis_nearest_suggest_or(&nearest, "it has prompt_tokens, output_tokens, content and others");
  luaL_error(L, "a request has no field '%s'%s", name, suggestion.text);
  return DESCRIBED;
}

/* Checks the value of a field on top of the stack. */
static void check_described(lua_State *L, size_t field) {
  const char *name = described[field].name;
  int64_t max = described[field].max;
  int is_whole = 0;
  bool is_number = lua_type(L, -1) == LUA_TNUMBER;
  int64_t whole = is_number ? lua_tointegerx(L, -1, &is_whole) : 0;
  switch (described[field].kind) {
  case WHOLE:
    if (!is_whole || whole < 0 || whole > max) {
      luaL_error(L, "%s is %s, expected an integer from 0 to %I", name, push_what(L, -1),
                 (LUAI_UACINT)max);
    }
    break;
  case TEXT:
    if (lua_type(L, -1) != LUA_TSTRING) {
      luaL_error(L, "%s is %s, expected a string", name, push_what(L, -1));
    }
    break;
  case NUMBER:
    if (!is_number || !isfinite(lua_tonumber(L, -1))) {
      luaL_error(L, "%s is %s, expected a finite number", name, push_what(L, -1));
    }
    break;
  case ANY:
    break;
  }
}

/* Pushes a checked copy of the table at index. The copy becomes a record. */
static void push_copy(lua_State *L, int index) {
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    check_described(L, check_key(L));
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  if (opt_field_integer(L, lua_gettop(L), "shared_tokens", 0) > 0) {
    luaL_error(L, "the request is one of a list, which has its content; give "
                  "the list and the place of the request in it");
  }
}

static uint32_t tokens_of(lua_State *L, int index, const char *name, int64_t fallback) {
  return (uint32_t)opt_field_integer(L, index, name, fallback);
}

/* Reads a request that a script describes in the checked table at index; pushes the owner of its
   segments. */
static blis_request push_described(lua_State *L, int index, lone *self) {
  const bind_content_names names = {name_content, self->contents};
  blis_request request = {0};
  if (lua_getfield(L, index, "content") != LUA_TNIL) {
    request = push_content(L, lua_gettop(L), &names);
  }
  uint32_t prompt_tokens = tokens_of(L, index, "prompt_tokens", request.prompt_tokens);
  if (request.segment_count > 0 && prompt_tokens != request.prompt_tokens) {
    luaL_error(L, "prompt_tokens is %I, but content has %I tokens", (LUAI_UACINT)prompt_tokens,
               (LUAI_UACINT)request.prompt_tokens);
  }
  request.prompt_tokens = prompt_tokens;
  request.output_tokens = tokens_of(L, index, "output_tokens", 1);
  request.max_output_tokens = tokens_of(L, index, "max_output_tokens", request.output_tokens);
  request.arrival_us = opt_field_integer(L, index, "arrival_us", self->now_us);
  request.deadline_us = opt_field_integer(L, index, "deadline_us", 0);
  request.number = opt_field_integer(L, index, "number", self->last_number + 1);
  return request;
}

/* Pushes the request given by the arguments from 2 as a table: (workload, index) or (table).
 * *next is the next argument. */
static blis_request push_request(lua_State *L, lone *self, int *next) {
  if (luaL_testudata(L, 2, WORKLOAD_TYPE) == NULL) {
    luaL_checktype(L, 2, LUA_TTABLE);
    *next = 3;
    push_copy(L, 2);
    int record = lua_gettop(L);
    blis_request request = push_described(L, record, self);
    lua_pushvalue(L, record);
    return request;
  }
  const blis_workload *workload = check_workload(L, 2);
  lua_Integer i = luaL_checkinteger(L, 3);
  luaL_argcheck(L, i >= 1 && (size_t)i <= blis_workload_count(workload), 3,
                "the workload has no such request");
  *next = 4;
  push_workload_request(L, workload, (size_t)i - 1);
  return *blis_workload_request(workload, (size_t)i - 1);
}

static blis_block_chain check_chain(lua_State *L, lone *self, const blis_request *request) {
  blis_block_chain chain = {0};
  blis_error error = {0};
  check_status(L,
               blis_block_namer_chain(self->namer, request,
                                      (uint32_t)self->engine.config.block_size_tokens, &chain,
                                      &error),
               &error);
  return chain;
}

/* Returns the priority, as in a cluster: a number, or derived from the class of the request. */
static double priority_of(lua_State *L, int record, const lone *self) {
  const char *slo_class = opt_field_string(L, record, "slo_class");
  double value = blis_slo_priority_value(self->priorities, slo_class != NULL ? slo_class : "");
  return opt_field_number(L, record, "priority", value);
}

/* Sets the fields that every record has. */
static void complete_record(lua_State *L, int record, const blis_request *request) {
  lua_pushvalue(L, record);
  const bind_request_name name = {.number = request->number};
  if (lua_getfield(L, record, "id") == LUA_TNIL) {
    push_request_id(L, &name);
    lua_setfield(L, record, "id");
  }
  lua_pop(L, 1);
  set_field_integer(L, "number", request->number);
  set_field_integer(L, "arrival_us", request->arrival_us);
  set_field_integer(L, "prompt_tokens", request->prompt_tokens);
  set_field_integer(L, "output_tokens", request->output_tokens);
  lua_pop(L, 1);
}

/* IDs and numbers are unique among the requests on the instance. */
static void check_is_new(lua_State *L, int record) {
  static const char *const names[] = {"id", "number"};
  lua_getiuservalue(L, 1, KNOWN);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_getfield(L, record, names[i]);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) != LUA_TNIL) {
      luaL_error(L, "%s is %s, which another request on this instance has", names[i],
                 push_what(L, -2));
    }
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

/* Registers a request by ID and number while it is on the instance, or removes it. */
static void set_known(lua_State *L, int record, bool is_here) {
  static const char *const names[] = {"id", "number"};
  lua_getiuservalue(L, 1, KNOWN);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_getfield(L, record, names[i]);
    if (is_here) {
      lua_pushvalue(L, record);
    } else {
      lua_pushnil(L);
    }
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

/* Returns the time that a script passes for a request; the default is its arrival time. */
static int64_t check_now(lua_State *L, int index, const lone *self, int64_t arrival_us) {
  if (lua_isnoneornil(L, index)) {
    return arrival_us > self->now_us ? arrival_us : self->now_us;
  }
  int is_whole = 0;
  int64_t now_us = lua_type(L, index) == LUA_TNUMBER ? lua_tointegerx(L, index, &is_whole) : 0;
  if (!is_whole || now_us == INT64_MAX) {
    luaL_error(L, "now_us is %s, expected an integer of at least %I", push_what(L, index),
               (LUAI_UACINT)self->now_us);
  }
  if (now_us < self->now_us) {
    luaL_error(L, "now_us is %I, but the time of the instance is already %I", (LUAI_UACINT)now_us,
               (LUAI_UACINT)self->now_us);
  }
  return now_us;
}

/* add(workload, i [, now_us]), add(request [, now_us]): adds a request and returns its id. */
static int lone_add(lua_State *L) {
  lone *self = check_lone(L);
  lua_settop(L, 4);
  int next = 0;
  const blis_request request = push_request(L, self, &next);
  int record = lua_gettop(L);
  int64_t now_us = check_now(L, next, self, request.arrival_us);
  complete_record(L, record, &request);
  check_is_new(L, record);
  double priority = priority_of(L, record, self);
  blis_block_chain chain = check_chain(L, self, &request);
  uint32_t slot = 0;
  lua_getiuservalue(L, 1, RECORDS);
  int records = lua_gettop(L);
  check_status(L, blis_pool_take(&self->pool, &slot), NULL);
  lua_pushvalue(L, record);
  lua_rawseti(L, records, (lua_Integer)slot + 1);
  held *added = blis_pool_item(&self->pool, slot);
  *added = (held){0};
  blis_live_request_init(&added->live, &request, slot);
  added->live.priority = priority;
  append(&self->here, added);
  added->live.chain = chain;
  blis_error error = {0};
  blis_status status = blis_instance_inject(self->instance, &added->live, now_us, &error);
  if (status != BLIS_OK) {
    take_out(&self->here, added);
    blis_pool_give(&self->pool, slot);
  }
  check_status(L, status, &error);
  set_known(L, record, true);
  self->now_us = now_us;
  if (request.number > self->last_number) {
    self->last_number = request.number;
  }
  lua_getfield(L, record, "id");
  return 1;
}

/* cached_tokens(workload, i), cached_tokens(request): return the number of leading tokens that
   are cached. */
static int lone_cached_tokens(lua_State *L) {
  lone *self = check_lone(L);
  lua_settop(L, 3);
  int next = 0;
  const blis_request request = push_request(L, self, &next);
  blis_block_chain chain = check_chain(L, self, &request);
  uint32_t blocks = blis_instance_cached_blocks(self->instance, &chain);
  blis_block_namer_release(self->namer, &chain);
  lua_pushinteger(L, blocks * self->engine.config.block_size_tokens);
  return 1;
}

/* Steps. */

static void set_time(lua_State *L, const char *name, int64_t time_us) {
  if (time_us >= 0) {
    set_field_integer(L, name, time_us);
  }
}

/* Pushes the record of a request that has ended, and removes the request. */
static void push_record(lua_State *L, lone *self, held *request) {
  const blis_live_request *live = &request->live;
  lua_Integer place = (lua_Integer)live->slot + 1;
  lua_getiuservalue(L, 1, RECORDS);
  lua_rawgeti(L, -1, place);
  set_field_string(L, "state", blis_request_state_name(live->state));
  set_time(L, "ttft_us", live->ttft_us);
  set_time(L, "e2e_us", live->e2e_us);
  set_time(L, "scheduling_delay_us", live->scheduling_delay_us);
  set_field_integer(L, "itl_sum_us", live->itl_sum_us);
  set_field_integer(L, "itl_count", live->itl_count);
  set_field_integer(L, "end_us", request->end_us);
  lua_pushboolean(L, live->was_counted);
  lua_setfield(L, -2, "was_counted");
  set_known(L, lua_gettop(L), false);
  lua_pushnil(L);
  lua_rawseti(L, -3, place);
  lua_remove(L, -2);
  blis_block_namer_release(self->namer, &request->live.chain);
  take_out(&self->over, request);
  blis_pool_give(&self->pool, live->slot);
}

/*
 * step(): executes the next event. Returns a list of the records of requests that ended, or nil if
 * nothing is left to do.
 */
static int lone_step(lua_State *L) {
  lone *self = check_lone(L);
  lua_settop(L, 1);
  int64_t time_us = blis_instance_next_us(self->instance);
  if (time_us > self->engine.config.horizon_us || time_us == BLIS_TIME_NEVER_US) {
    lua_pushnil(L);
    return 1;
  }
  bool clock_moved = true;
  blis_error error = {0};
  check_status(L, blis_instance_run_next(self->instance, time_us + 1, &clock_moved, &error),
               &error);
  self->now_us = clock_moved ? time_us : self->now_us;
  lua_newtable(L);
  for (lua_Integer n = 1; self->over.first != NULL; n++) {
    push_record(L, self, self->over.first);
    set_printable(L);
    lua_rawseti(L, 2, n);
  }
  set_printable(L);
  return 1;
}

/* Requests on the instance. */

/* Pushes the ids of the requests in a state, in order of arrival. */
static void push_ids(lua_State *L, const lone *self, blis_request_state state) {
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_getiuservalue(L, 1, RECORDS);
  lua_Integer count = 0;
  for (const held *h = self->here.first; h != NULL; h = h->later) {
    if (h->live.state == state) {
      lua_rawgeti(L, list + 1, (lua_Integer)h->live.slot + 1);
      lua_getfield(L, -1, "id");
      lua_rawseti(L, list, ++count);
      lua_pop(L, 1);
    }
  }
  lua_settop(L, list);
  set_printable(L);
}

/* Fields in addition to next_us, which may be nil. */
static const char *const lone_fields[] = {"now_us",
                                          "waiting",
                                          "running",
                                          "queue_depth",
                                          "batch_size",
                                          "kv_blocks",
                                          "used_kv_blocks",
                                          "free_kv_blocks",
                                          "kv_utilization",
                                          "block_size",
                                          "cache_hits",
                                          "cache_misses",
                                          "preemptions",
                                          "completed",
                                          "timed_out",
                                          "unservable",
                                          "steps",
                                          "output_tokens",
                                          NULL};

static bool push_special(lua_State *L, const lone *self, const char *name,
                         const blis_instance_stats *stats) {
  if (strcmp(name, "waiting") == 0) {
    push_ids(L, self, BLIS_REQUEST_QUEUED);
  } else if (strcmp(name, "running") == 0) {
    push_ids(L, self, BLIS_REQUEST_RUNNING);
  } else if (strcmp(name, "kv_utilization") == 0) {
    lua_pushnumber(L, (double)stats->used_kv_blocks / (double)stats->kv_blocks);
  } else if (strcmp(name, "next_us") == 0) {
    int64_t next_us = blis_instance_next_us(self->instance);
    if (next_us == BLIS_TIME_NEVER_US) {
      lua_pushnil(L);
    } else {
      lua_pushinteger(L, next_us);
    }
  } else {
    return false;
  }
  return true;
}

static bool push_lone_field(lua_State *L, const char *name) {
  const lone *self = check_lone(L);
  blis_instance_stats stats;
  blis_instance_get_stats(self->instance, &stats);
  if (push_special(L, self, name, &stats)) {
    return true;
  }
  const struct {
    const char *name;
    int64_t value;
  } fields[] = {
      {"now_us", self->now_us},
      {"queue_depth", stats.queue_depth},
      {"batch_size", stats.batch_size},
      {"kv_blocks", stats.kv_blocks},
      {"used_kv_blocks", stats.used_kv_blocks},
      {"free_kv_blocks", stats.kv_blocks - stats.used_kv_blocks},
      {"block_size", self->engine.config.block_size_tokens},
      {"cache_hits", stats.cache_hits},
      {"cache_misses", stats.cache_misses},
      {"preemptions", stats.preemptions},
      {"completed", stats.completed},
      {"timed_out", stats.timed_out},
      {"unservable", stats.unservable},
      {"steps", stats.steps},
      {"output_tokens", stats.output_tokens},
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (strcmp(name, fields[i].name) == 0) {
      lua_pushinteger(L, fields[i].value);
      return true;
    }
  }
  return false;
}

static int lone_tostring(lua_State *L) {
  const lone *self = luaL_checkudata(L, 1, LONE_INSTANCE_TYPE);
  if (self->instance == NULL) {
    lua_pushliteral(L, "instance (closed)");
    return 1;
  }
  blis_instance_load load = blis_instance_get_load(self->instance);
  lua_pushfstring(L, "instance (at %I us, %I waiting, %I running)", (LUAI_UACINT)self->now_us,
                  (LUAI_UACINT)load.queue_depth, (LUAI_UACINT)load.batch_size);
  return 1;
}

/* Returns the number of requests on the instance. */
static int lone_len(lua_State *L) {
  const lone *self = check_lone(L);
  lua_pushinteger(L, blis_pool_count(&self->pool));
  return 1;
}

static const luaL_Reg lone_meta[] = {{"__gc", lone_gc},
                                     {"__close", lone_gc},
                                     {"__len", lone_len},
                                     {"__tostring", lone_tostring},
                                     {NULL, NULL}};

static const luaL_Reg lone_methods[] = {{"add", lone_add},
                                        {"cached_tokens", lone_cached_tokens},
                                        {"close", lone_gc},
                                        {"step", lone_step},
                                        {NULL, NULL}};

static const bind_fields lone_members = {.owner = "an instance by itself",
                                         .names = lone_fields,
                                         .methods = lone_methods,
                                         .push = push_lone_field};

void bind_open_lone_instances(lua_State *L) {
  push_new_type(L, LONE_INSTANCE_TYPE, lone_meta, NULL);
  set_fields(L, &lone_members);
  lua_pop(L, 1);
}
