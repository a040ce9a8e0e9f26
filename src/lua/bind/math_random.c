#include "lua/bind/math_random.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"

/* Registry key of the stream in use (the address of this variable). */
static const char stream_key;

static bind_script_random *in_use(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &stream_key);
  bind_script_random *used = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return used;
}

bind_script_random *bind_script_random_enter(lua_State *L, bind_script_random *random) {
  bind_script_random *before = in_use(L);
  bind_script_random_leave(L, random);
  return before;
}

void bind_script_random_leave(lua_State *L, bind_script_random *before) {
  lua_pushlightuserdata(L, before); /* also NULL, so that the key remains */
  lua_rawsetp(L, LUA_REGISTRYINDEX, &stream_key);
}

struct bind_hooks *bind_hooks_driven(lua_State *L) {
  const bind_script_random *used = in_use(L);
  return used == NULL ? NULL : used->hooks;
}

/* Returns the stream of the run, or NULL outside of runs. */
static blis_random *stream_in_use(lua_State *L) {
  bind_script_random *used = in_use(L);
  if (used == NULL) {
    return NULL;
  }
  if (!used->is_ready) {
    blis_random_init_named(&used->random, used->seed, used->name);
    used->is_ready = true;
  }
  return &used->random;
}

/* Calls the function that was replaced, with the same arguments. */
static int call_original(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* Returns a uniform number in 0..span. Rejects samples that would bias the remainder. */
static uint64_t draw_up_to(blis_random *random, uint64_t span) {
  if (span == UINT64_MAX) {
    return blis_random_uint64(random);
  }
  uint64_t count = span + 1;
  uint64_t limit = UINT64_MAX - UINT64_MAX % count;
  uint64_t drawn = blis_random_uint64(random);
  while (drawn >= limit) {
    drawn = blis_random_uint64(random);
  }
  return drawn % count;
}

/* random(), random(n), random(m, n), random(0): same meaning as in Lua. */
static int script_random(lua_State *L) {
  blis_random *random = stream_in_use(L);
  if (random == NULL) {
    return call_original(L);
  }
  int count = lua_gettop(L);
  luaL_argcheck(L, count <= 2, 3, "wrong number of arguments");
  if (count == 0) {
    lua_pushnumber(L, blis_random_float64(random));
    return 1;
  }
  lua_Integer low = count == 1 ? 1 : luaL_checkinteger(L, 1);
  lua_Integer high = luaL_checkinteger(L, count);
  if (count == 1 && high == 0) {
    lua_pushinteger(L, (lua_Integer)blis_random_uint64(random));
    return 1;
  }
  luaL_argcheck(L, low <= high, count, "interval is empty");
  uint64_t drawn = draw_up_to(random, (uint64_t)high - (uint64_t)low);
  lua_pushinteger(L, (lua_Integer)((uint64_t)low + drawn));
  return 1;
}

/* Restarts the stream of the current run; other runs are not affected. */
static int script_randomseed(lua_State *L) {
  blis_random *random = stream_in_use(L);
  if (random == NULL) {
    return call_original(L);
  }
  blis_random_init(random, luaL_checkinteger(L, 1));
  return 0;
}

int bind_call_seeded(lua_State *L) {
  bind_script_random stream = {.name = "workload-scripts", .seed = luaL_checkinteger(L, 1)};
  luaL_checktype(L, 2, LUA_TFUNCTION);
  bind_script_random *before = bind_script_random_enter(L, &stream);
  int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  bind_script_random_leave(L, before);
  return status == LUA_OK ? lua_gettop(L) - 1 : lua_error(L);
}

static void replace(lua_State *L, const char *name, lua_CFunction function) {
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
}

void bind_open_script_random(lua_State *L) {
  bind_script_random_leave(L, NULL);
  if (lua_getglobal(L, "math") == LUA_TTABLE) {
    replace(L, "random", script_random);
    replace(L, "randomseed", script_randomseed);
  }
  lua_pop(L, 1);
}
