#include "lua/workers/workers.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/interrupt.h"
#include "lua/workers/worker_pool.h"

#define WORKERS_TYPE "blis.workers"

typedef struct workers {
  blis_worker_pool *pool; /* NULL once it is closed */
  lua_State *L;           /* the calling state; workers are copies of it */
  int self_index;         /* index of this userdata on its stack */
} workers;

static workers *check_workers(lua_State *L) {
  workers *self = luaL_checkudata(L, 1, WORKERS_TYPE);
  luaL_argcheck(L, self->pool != NULL, 1, "the workers are closed");
  return self;
}

/* ---- inside a worker --------------------------------------------------- */

static bool is_lack_of_memory(lua_State *L, int index) {
  if (!lua_istable(L, index)) {
    return false;
  }
  bool found =
      lua_getfield(L, index, "code") == LUA_TSTRING && strcmp(lua_tostring(L, -1), "nomem") == 0;
  lua_pop(L, 1);
  return found;
}

/* [work, task, outcome*]: leaves a string; *outcome states its kind. */
static int call_work(lua_State *L) {
  blis_worker_outcome *outcome = lua_touserdata(L, 3);
  lua_settop(L, 2);
  int status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_OK) {
    *outcome = BLIS_WORKER_DONE;
    return lua_type(L, -1) == LUA_TSTRING
               ? 1
               : luaL_error(L, "work returned a %s, expected a string", luaL_typename(L, -1));
  }
  bool is_memory = status == LUA_ERRMEM || is_lack_of_memory(L, -1);
  *outcome = is_memory ? BLIS_WORKER_NO_MEMORY : BLIS_WORKER_FAILED;
  luaL_tolstring(L, -1, NULL);
  return 1;
}

static blis_worker_outcome work(void *ud, int64_t task, blis_buffer *text) {
  workers *self = ud;
  lua_State *L = self->L;
  int top = lua_gettop(L);
  blis_worker_outcome outcome = BLIS_WORKER_FAILED;
  lua_pushcfunction(L, call_work);
  lua_getiuservalue(L, self->self_index, 1);
  lua_pushinteger(L, task);
  lua_pushlightuserdata(L, &outcome);
  int status = lua_pcall(L, 3, 1, 0);
  if (status == LUA_ERRMEM) {
    outcome = BLIS_WORKER_NO_MEMORY;
  } else if (status != LUA_OK) {
    outcome = BLIS_WORKER_FAILED;
  }
  size_t length = 0;
  const char *bytes = lua_tolstring(L, -1, &length);
  if (bytes != NULL) {
    blis_buffer_bytes(text, bytes, length);
  }
  lua_settop(L, top);
  return outcome;
}

/* ---- in the parent ----------------------------------------------------- */

static int workers_submit(lua_State *L) {
  workers *self = check_workers(L);
  blis_error error = {0};
  lua_Integer time_limit_us = luaL_optinteger(L, 3, 0);
  check_status(L,
               blis_worker_pool_submit(self->pool, luaL_checkinteger(L, 2), time_limit_us, &error),
               &error);
  lua_settop(L, 1);
  return 1;
}

static int workers_cancel(lua_State *L) {
  workers *self = check_workers(L);
  lua_pushboolean(L, blis_worker_pool_cancel(self->pool, luaL_checkinteger(L, 2)));
  return 1;
}

static int workers_pending(lua_State *L) {
  workers *self = check_workers(L);
  lua_pushinteger(L, (lua_Integer)blis_worker_pool_pending(self->pool));
  return 1;
}

static void check_interrupt(lua_State *L) {
  if (blis_interrupt_requested()) {
    blis_interrupt_clear();
    blis_error error;
    check_status(L, blis_fail(&error, BLIS_ERR_INTERRUPTED, "interrupted"), &error);
  }
}

static int workers_wait(lua_State *L) {
  static const char *const words[] = {
      [BLIS_WORKER_DONE] = "done",        [BLIS_WORKER_FAILED] = "error",
      [BLIS_WORKER_NO_MEMORY] = "memory", [BLIS_WORKER_EXITED] = "exit",
      [BLIS_WORKER_KILLED] = "signal",    [BLIS_WORKER_TIMEOUT] = "time",
  };
  workers *self = check_workers(L);
  lua_Integer timeout_us = luaL_optinteger(L, 2, -1);
  const blis_worker_watch watch = {.for_input = lua_toboolean(L, 3) != 0,
                                   .for_output = lua_toboolean(L, 4) != 0};
  luaL_checkstack(L, 16, NULL); /* nothing may raise in a worker */
  self->L = L;
  self->self_index = 1;
  blis_worker_result result;
  bool has_result = false;
  blis_error error = {0};
  check_status(L,
               blis_worker_pool_wait(self->pool, timeout_us, &watch, &result, &has_result, &error),
               &error);
  if (!has_result) {
    check_interrupt(L);
    return 0;
  }
  lua_pushinteger(L, result.task);
  lua_pushstring(L, words[result.outcome]);
  lua_pushlstring(L, result.text.data, result.text.length);
  lua_pushinteger(L, result.detail);
  return 4;
}

static int workers_close(lua_State *L) {
  workers *self = luaL_checkudata(L, 1, WORKERS_TYPE);
  blis_worker_pool_free(self->pool);
  self->pool = NULL;
  return 0;
}

static int workers_tostring(lua_State *L) {
  const workers *self = luaL_checkudata(L, 1, WORKERS_TYPE);
  lua_pushstring(L, self->pool == NULL ? "workers (closed)" : "workers");
  return 1;
}

int bind_workers_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  workers *self = lua_newuserdatauv(L, sizeof *self, 1); // [options, self]
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, WORKERS_TYPE);
  lua_getfield(L, 1, "work");
  luaL_argexpected(L, lua_isfunction(L, -1), 1, "a function work");
  lua_setiuservalue(L, 2, 1);
  int64_t jobs = check_field_integer(L, 1, "jobs");
  blis_worker_options options = {
      .jobs = jobs < 0 || jobs > BLIS_WORKERS_MAX ? BLIS_WORKERS_MAX + 1 : (int)jobs,
      .time_limit_us = opt_field_integer(L, 1, "time_limit_us", 0),
      .memory_limit_bytes = opt_field_integer(L, 1, "memory_limit_bytes", 0),
      .is_fresh = opt_field_boolean(L, 1, "is_fresh", false),
      .work = work,
      .ud = self,
  };
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_worker_pool_new(&alloc, &options, &self->pool, &error), &error);
  return 1;
}

void bind_open_workers(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", workers_close},
                                  {"__close", workers_close},
                                  {"__tostring", workers_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"cancel", workers_cancel},   {"close", workers_close},
                                     {"pending", workers_pending}, {"submit", workers_submit},
                                     {"wait", workers_wait},       {NULL, NULL}};
  push_new_type(L, WORKERS_TYPE, meta, methods);
  lua_pop(L, 1);
}
