/*
 * dynamo_selector.c - a policy in Lua as a worker selector plugin: a Lua state,
 * the part that simulator and plugin share (selector.lua), and the way of the
 * numbers between C and Lua.
 */
#include "dynamo_selector.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "lua/bind/embedded.h"

extern const blis_embedded_table blis_selector_lua;

/* Of the selector, in the registry. */
static const char select_key;

static void push_field_uint64_t(lua_State *L, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
}

static void push_field_uint32_t(lua_State *L, uint32_t value) {
  lua_pushinteger(L, (lua_Integer)value);
}

static void push_field_double(lua_State *L, double value) {
  lua_pushnumber(L, value);
}

static void push_candidate(lua_State *L, const dynamo_candidate *candidate) {
  lua_createtable(L, 0, 16);
#define XX(type, name)                                                         \
  push_field_##type(L, candidate->name);                                       \
  lua_setfield(L, -2, #name);
  DYNAMO_CANDIDATE_FIELDS(XX)
#undef XX
}

static void push_request(lua_State *L, const dynamo_request *request) {
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, (lua_Integer)request->isl_tokens);
  lua_setfield(L, -2, "isl_tokens");
  lua_pushinteger(L, (lua_Integer)request->expected_output_tokens);
  lua_setfield(L, -2, "expected_output_tokens");
  lua_pushstring(L, request->session_id);
  lua_setfield(L, -2, "session_id");
  lua_pushinteger(L, (lua_Integer)request->block_size_tokens);
  lua_setfield(L, -2, "block_size_tokens");
}

typedef struct question {
  const dynamo_request *request;
  const dynamo_candidate *candidates;
  size_t count;
} question;

static int answer(lua_State *L) {
  const question *q = lua_touserdata(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &select_key);
  push_request(L, q->request);
  lua_createtable(L, (int)q->count, 0);
  for (size_t i = 0; i < q->count; i++) {
    push_candidate(L, &q->candidates[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_call(L, 2, 1);
  return 1;
}

/* selector(function() return dofile(path) end) */
static int load_policy(lua_State *L) {
  const char *path = lua_tostring(L, lua_upvalueindex(1));
  if (luaL_loadfilex(L, path, "t") != LUA_OK) {
    return lua_error(L);
  }
  lua_call(L, 0, 1);
  return 1;
}

static int open_selector(lua_State *L) {
  const blis_embedded_file *file = &blis_selector_lua.files[0];
  luaL_openlibs(L);
  if (luaL_loadbufferx(L, file->bytes, file->size, "=selector.lua", "t") !=
      LUA_OK) {
    return lua_error(L);
  }
  lua_call(L, 0, 1);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, load_policy, 1);
  lua_call(L, 1, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &select_key);
  return 0;
}

static void *create(const char *policy, char *error, size_t size) {
  const char *path =
      policy != NULL ? policy : getenv("BLIS_SELECTOR_POLICY"); // NOLINT
  if (path == NULL) {
    snprintf(error, size, "no policy: BLIS_SELECTOR_POLICY is not set");
    return NULL;
  }
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    snprintf(error, size, "out of memory");
    return NULL;
  }
  lua_pushcfunction(L, open_selector);
  lua_pushstring(L, path);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    const char *message = lua_tostring(L, -1);
    snprintf(error, size, "%s", message != NULL ? message : "unknown error");
    lua_close(L);
    return NULL;
  }
  return L;
}

static int64_t select_worker(void *selector, const dynamo_request *request,
                             const dynamo_candidate *candidates, size_t count) {
  lua_State *L = selector;
  question q = {request, candidates, count};
  int64_t chosen = DYNAMO_USE_DEFAULT;
  lua_pushcfunction(L, answer);
  lua_pushlightuserdata(L, &q);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
    chosen = (int64_t)lua_tointeger(L, -1) - 1;
  } else {
    const char *message = lua_tostring(L, -1);
    fprintf(stderr, "blis selector: %s\n",
            message != NULL ? message : "unknown error");
  }
  lua_settop(L, 0);
  return chosen;
}

static void destroy(void *selector) {
  if (selector != NULL) {
    lua_close(selector);
  }
}

__attribute__((visibility("default")))
const dynamo_worker_selector_plugin dynamo_worker_selector_plugin_v1 = {
    .create = create, .select = select_worker, .destroy = destroy};
