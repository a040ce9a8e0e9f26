#include "lua/bind/hook.h"

#include <string.h>

#include "base/invariant.h"
#include "lua/bind/bind.h"
#include "lua/bind/sandbox.h"
#include "lua/bind/traceback.h"

void push_hooks_anchor(lua_State *L, bind_hooks *hooks) {
  *hooks = (bind_hooks){.sandbox = bind_sandbox_of(L)};
  lua_createtable(L, ANCHOR_FUNCTIONS + 4, 0);
  lua_pushboolean(L, 0); /* reserves the slot, so that storing an error needs no memory */
  lua_rawseti(L, -2, ANCHOR_ERROR);
  lua_pushvalue(L, -1);
  check_hooks_open(L, hooks);
}

void check_hooks_open(lua_State *L, bind_hooks *hooks) {
  hooks->entries++;
  lua_rawsetp(L, LUA_REGISTRYINDEX, hooks);
}

void bind_hooks_shut(lua_State *L, const bind_hooks *hooks) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, hooks) != LUA_TNIL) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, hooks);
  }
  lua_pop(L, 1);
}

void bind_hooks_anchor(lua_State *L, const bind_hooks *hooks) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, hooks);
}

int push_hook_function(lua_State *L, bind_hooks *hooks) {
  int place = ANCHOR_FUNCTIONS + hooks->functions;
  bind_hooks_anchor(L, hooks);
  lua_insert(L, -2);
  lua_rawseti(L, -2, place);
  lua_pop(L, 1);
  hooks->functions++;
  return place;
}

int push_hook_field(lua_State *L, int index, const char *name, bind_hooks *hooks) {
  if (lua_getfield(L, index, name) == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  return push_hook_function(L, hooks);
}

void push_instance_function(lua_State *L, int anchor, int place, uint32_t instance) {
  lua_rawgeti(L, anchor, place);
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_geti(L, -1, (lua_Integer)instance + 1);
    lua_remove(L, -2);
  }
}

/*
 * Adds the traceback as message handler, while the stack of the error exists. An error of a run
 * inside the policy already contains this stack and more.
 */
static int add_traceback(lua_State *L) {
  lua_settop(L, 1);
  lua_createtable(L, 0, 2);
  lua_insert(L, 1);
  if (!push_error_text(L, 2, "traceback")) {
    push_traceback(L, NULL);
  }
  lua_setfield(L, 1, "traceback");
  lua_setfield(L, 1, "cause");
  return 1;
}

typedef struct failure {
  const bind_hooks *hooks;
  const bind_hook_place *place;
} failure;

/*
 * Pushes the code of an error inside a policy. Interrupts and out-of-memory errors keep their code;
 * all other errors count as failures of the policy.
 */
static void push_code(lua_State *L, int cause) {
  if (lua_type(L, cause) == LUA_TTABLE) {
    lua_pushliteral(L, "code");
    if (lua_rawget(L, cause) == LUA_TSTRING) {
      const char *code = lua_tostring(L, -1);
      if (strcmp(code, "interrupted") == 0 || strcmp(code, "nomem") == 0) {
        return;
      }
    }
    lua_pop(L, 1);
  }
  lua_pushliteral(L, "policy");
}

static void push_policy_name(lua_State *L, const bind_hook_place *place) {
  if (place->name[0] == '\0') {
    lua_pushstring(L, place->kind);
  } else {
    lua_pushfstring(L, "%s '%s'", place->kind, place->name);
  }
}

static int to_text(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* Returns whether a failure ends more than the failed function: memory, limits, and interrupts. */
static bool is_fatal(lua_State *L, int status, int cause) {
  push_code(L, cause);
  bool is_policy = strcmp(lua_tostring(L, -1), "policy") == 0;
  lua_pop(L, 1);
  return status == LUA_ERRMEM || lua_islightuserdata(L, cause) || !is_policy;
}

/* Pushes the result of __tostring for an error value; __tostring may fail. */
static void push_said(lua_State *L, int cause) {
  lua_pushcfunction(L, to_text);
  lua_pushvalue(L, cause);
  int status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_OK) {
    return;
  }
  int failed = lua_gettop(L);
  if (is_fatal(L, status, failed)) {
    lua_error(L);
  }
  lua_pushfstring(L, "error() was called with %s whose __tostring failed", push_what(L, cause));
  if (lua_type(L, failed) == LUA_TSTRING) {
    lua_pushfstring(L, "%s (%s)", lua_tostring(L, -1), lua_tostring(L, failed));
  }
  lua_replace(L, failed);
  lua_settop(L, failed);
}

/* Pushes the text of an error value, without addresses, which are meaningless to users. */
static void push_cause(lua_State *L, int cause) {
  bool is_text = lua_type(L, cause) == LUA_TSTRING || lua_type(L, cause) == LUA_TNUMBER;
  if (push_error_text(L, cause, "message")) {
    return; // its traceback is stored separately
  }
  if (is_text || luaL_getmetafield(L, cause, "__tostring") != LUA_TNIL) {
    lua_settop(L, is_text ? lua_gettop(L) : lua_gettop(L) - 1);
    push_said(L, cause);
  } else {
    lua_pushfstring(L, "error() was called with %s instead of a message", push_what(L, cause));
    lua_remove(L, -2);
  }
}

/* Pushes "scorer 'name', request_7, at 1234 us: CAUSE". */
static void push_message(lua_State *L, const bind_hook_place *place, int cause) {
  push_policy_name(L, place);
  if (place->request != NULL) {
    lua_pushliteral(L, ", ");
    push_request_id(L, place->request);
    lua_concat(L, 3);
  }
  if (place->instance != NULL) {
    lua_pushfstring(L, ", %s", place->instance);
    lua_concat(L, 2);
  }
  if (place->now_us >= 0) {
    lua_pushfstring(L, ", at %I us: ", (LUAI_UACINT)place->now_us);
  } else {
    lua_pushliteral(L, ": ");
  }
  push_cause(L, cause);
  lua_concat(L, 3);
}

/* describe(error, failure): stores the error object that users will see. */
static int describe(lua_State *L) {
  enum { CAUSE = 3, TRACEBACK, CODE, OBJECT };
  const failure *failed = lua_touserdata(L, 2);
  const bind_hook_place *place = failed->place;
  if (lua_type(L, 1) == LUA_TTABLE) {
    lua_getfield(L, 1, "cause");
    lua_getfield(L, 1, "traceback");
  } else { /* the message handler was not called for lack of memory */
    lua_pushvalue(L, 1);
    lua_pushnil(L);
  }
  push_code(L, CAUSE);
  push_error_object(L, lua_tostring(L, CODE));
  push_message(L, place, CAUSE);
  lua_setfield(L, OBJECT, "message");
  push_policy_name(L, place);
  lua_setfield(L, OBJECT, "policy");
  if (place->request != NULL) {
    push_request_id(L, place->request);
    lua_setfield(L, OBJECT, "request");
  }
  if (place->instance != NULL) {
    lua_pushstring(L, place->instance);
    lua_setfield(L, OBJECT, "instance");
  }
  if (place->now_us >= 0) {
    lua_pushinteger(L, place->now_us);
    lua_setfield(L, OBJECT, "time_us");
  }
  lua_pushvalue(L, CAUSE);
  lua_setfield(L, OBJECT, "cause");
  lua_pushvalue(L, TRACEBACK);
  lua_setfield(L, OBJECT, "traceback");
  bind_hooks_anchor(L, failed->hooks);
  lua_pushvalue(L, OBJECT);
  lua_rawseti(L, -2, ANCHOR_ERROR);
  BLIS_ASSERT(lua_gettop(L) == OBJECT + 1);
  return 0;
}

/*
 * Returns whether the error is stored already: a hook of this run failed inside another hook, which
 * received the error from a method of the simulation and raised it again.
 */
static bool is_stored(lua_State *L, const bind_hooks *hooks) {
  if (!hooks->has_error || lua_type(L, -1) != LUA_TTABLE) {
    return false;
  }
  lua_pushliteral(L, "cause");
  lua_rawget(L, -2);
  bind_hooks_anchor(L, hooks);
  lua_rawgeti(L, -1, ANCHOR_ERROR); // [.., error, cause, anchor, stored]
  bool is_same = lua_rawequal(L, -1, -3) != 0;
  lua_pop(L, 3);
  return is_same;
}

static void store_error(lua_State *L, bind_hooks *hooks, const bind_hook_place *place) {
  failure failed = {.hooks = hooks, .place = place};
  if (is_stored(L, hooks)) {
    return;
  }
  hooks->has_error = true;
  lua_pushcfunction(L, describe);
  lua_insert(L, -2);
  lua_pushlightuserdata(L, &failed);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) { // [the second error]
    bind_hooks_anchor(L, hooks);
    lua_insert(L, -2);
    lua_rawseti(L, -2, ANCHOR_ERROR);
  }
}

/* Calls lua_pcall with one argument. A sandboxed call has a separate budget. */
static int call_within_budget(const bind_hooks *hooks, int handler) {
  bind_sandbox *sandbox = hooks->sandbox;
  if (sandbox == NULL) {
    return lua_pcall(hooks->L, 1, 0, handler);
  }
  int64_t left = sandbox->left;
  sandbox->left = sandbox->call_instructions;
  int status = lua_pcall(hooks->L, 1, 0, handler);
  sandbox->left = left;
  return status;
}

blis_status bind_pcall(bind_hooks *hooks, const bind_hook_place *place, lua_CFunction body,
                       void *argument, blis_error *error) {
  lua_State *L = hooks->L;
  hooks->entries++;
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    return blis_fail_nomem(error);
  }
  int base = lua_gettop(L);
  lua_pushcfunction(L, add_traceback);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, argument);
  blis_status status = BLIS_OK;
  if (call_within_budget(hooks, base + 1) != LUA_OK) {
    store_error(L, hooks, place);
    status = blis_fail(error, BLIS_ERR_POLICY, "%s %s failed", place->kind, place->name);
  }
  BLIS_ASSERT(status != BLIS_OK || lua_gettop(L) == base + 1);
  hooks->entries++; /* values that the call has read may be outdated now */
  lua_settop(L, base);
  return status;
}
