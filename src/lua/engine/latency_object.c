#include "lua/engine/latency_object.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/engine/engine.h"
#include "lua/engine/latency.h"

#define LATENCY_TYPE "blis.latency_model"

enum { DEFINITION = 1, ANCHOR }; /* user values */

/* Zeroed before any resource is acquired. */
typedef struct latency_object {
  const blis_latency_model *model;
  bind_engine engine; /* used by a built-in model */
  bind_hooks hooks;   /* used by a Lua model */
  bind_latency latency;
  bind_instance_latency scripted;
} latency_object;

static latency_object *check_object(lua_State *L) {
  latency_object *self = luaL_checkudata(L, 1, LATENCY_TYPE);
  luaL_argcheck(L, self->model != NULL, 1, "it was never created");
  return self;
}

static bool is_scripted(const latency_object *self) {
  return self->model == &self->scripted.model;
}

static int object_gc(lua_State *L) {
  latency_object *self = luaL_checkudata(L, 1, LATENCY_TYPE);
  bind_engine_close(&self->engine);
  self->model = NULL;
  return 0;
}

int bind_latency_model_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  latency_object *self = lua_newuserdatauv(L, sizeof *self, 2);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, LATENCY_TYPE); // [definition, object]
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, DEFINITION);
  if (lua_getfield(L, 1, "cluster") == LUA_TTABLE) {
    check_engine_latency(L, 3, &self->engine);
    self->model = &self->engine.latency;
  } else {
    push_hooks_anchor(L, &self->hooks);
    lua_setiuservalue(L, 2, ANCHOR);
    check_scripted_latency(L, 1, &self->hooks, &self->latency);
    bind_hooks_shut(L, &self->hooks);
    bind_instance_latency_init(&self->scripted, &self->latency, -1);
    self->model = &self->scripted.model;
  }
  lua_settop(L, 2);
  return 1;
}

int bind_latency_definition(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_testudata(L, 1, LATENCY_TYPE) == NULL) {
    lua_pushnil(L);
  } else {
    lua_getiuservalue(L, 1, DEFINITION);
  }
  return 1;
}

/* Checks that a model in Lua can be called. May raise. */
static void check_open(lua_State *L, latency_object *self) {
  if (!is_scripted(self)) {
    return;
  }
  if (self->hooks.L != NULL) {
    luaL_error(L, "a latency model cannot be called inside its own functions");
  }
  lua_getiuservalue(L, 1, ANCHOR);
  check_hooks_open(L, &self->hooks);
  self->hooks.has_error = false;
  self->latency.has_failed = false;
  self->latency.failed_early = false;
  self->hooks.L = L;
}

/* Ends a call of a model and raises the error of its functions, if any. */
static void check_shut(lua_State *L, latency_object *self) {
  if (!is_scripted(self)) {
    return;
  }
  self->hooks.L = NULL;
  bind_hooks_shut(L, &self->hooks);
  if (self->hooks.has_error) {
    lua_getiuservalue(L, 1, ANCHOR);
    lua_rawgeti(L, -1, ANCHOR_ERROR);
    lua_error(L);
  }
}

/* Pushes the step time computed from sums only; nil if the model has none. */
static void push_from_sums(lua_State *L, latency_object *self, const blis_batch_sums *sums) {
  int64_t step_us = 0;
  check_open(L, self);
  bool has_answer = blis_latency_step_time_from_sums(self->model, sums, &step_us);
  check_shut(L, self);
  if (has_answer) {
    lua_pushinteger(L, step_us);
  } else {
    lua_pushnil(L);
  }
}

static int object_step_time(lua_State *L) {
  latency_object *self = check_object(L);
  lua_settop(L, 2);
  const bind_given_batch batch = check_batch(L, 2);
  if (batch.items == NULL && batch.sums.requests > 0) {
    push_from_sums(L, self, &batch.sums);
    return lua_isnil(L, -1) ? luaL_error(L, "this model needs the requests of a batch; with "
                                            "from_sums = true there are only sums")
                            : 1;
  }
  int64_t step_us = 0;
  blis_error error = {0};
  check_open(L, self);
  blis_status status =
      blis_latency_step_time(self->model, batch.items, batch.count, &step_us, &error);
  check_shut(L, self);
  check_status(L, status, &error);
  lua_pushinteger(L, step_us);
  return 1;
}

static int object_step_time_from_sums(lua_State *L) {
  latency_object *self = check_object(L);
  const blis_batch_sums sums = check_batch_sums(L, 2);
  push_from_sums(L, self, &sums);
  return 1;
}

static int object_queueing_time(lua_State *L) {
  latency_object *self = check_object(L);
  lua_Integer prompt_tokens = luaL_checkinteger(L, 2);
  luaL_argcheck(L, prompt_tokens >= 0, 2, "the tokens of a prompt cannot be negative");
  lua_settop(L, 2);
  check_open(L, self);
  int64_t time_us = blis_latency_queueing_time(self->model, prompt_tokens);
  check_shut(L, self);
  lua_pushinteger(L, time_us);
  return 1;
}

static int object_output_token_time(lua_State *L) {
  lua_pushinteger(L, blis_latency_output_token_time(check_object(L)->model));
  return 1;
}

static int object_fixed_overhead(lua_State *L) {
  lua_pushinteger(L, blis_latency_fixed_overhead(check_object(L)->model));
  return 1;
}

static const char *name_of(const latency_object *self) {
  return is_scripted(self) ? self->latency.name : self->engine.latency_name;
}

static const char *const object_fields[] = {"name", "from_sums", NULL};

static bool push_object_field(lua_State *L, const char *key) {
  const latency_object *self = check_object(L);
  if (strcmp(key, "name") == 0) {
    lua_pushstring(L, name_of(self));
  } else if (strcmp(key, "from_sums") == 0) {
    lua_pushboolean(L, blis_latency_uses_sums(self->model));
  } else {
    return false;
  }
  return true;
}

static int object_tostring(lua_State *L) {
  const latency_object *self = check_object(L);
  const bind_engine *engine = &self->engine;
  if (is_scripted(self)) {
    lua_pushfstring(L, "latency model '%s' (in Lua)", name_of(self));
  } else if (engine->hardware[0] == '\0') {
    lua_pushfstring(L, "latency model '%s'", name_of(self));
  } else {
    lua_pushfstring(L, "latency model '%s' (%s on %s, tp %I)", name_of(self), engine->model,
                    engine->hardware, (LUAI_UACINT)engine->tp);
  }
  return 1;
}

static const luaL_Reg object_meta[] = {
    {"__gc", object_gc}, {"__tostring", object_tostring}, {NULL, NULL}};

static const luaL_Reg object_methods[] = {{"fixed_overhead", object_fixed_overhead},
                                          {"output_token_time", object_output_token_time},
                                          {"queueing_time", object_queueing_time},
                                          {"step_time", object_step_time},
                                          {"step_time_from_sums", object_step_time_from_sums},
                                          {NULL, NULL}};

static const bind_fields object_members = {.owner = "a latency model",
                                           .names = object_fields,
                                           .methods = object_methods,
                                           .push = push_object_field};

void bind_open_latency_models(lua_State *L) {
  push_new_type(L, LATENCY_TYPE, object_meta, NULL);
  set_fields(L, &object_members);
  lua_pop(L, 1);
}
