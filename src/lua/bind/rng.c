#include "lua/bind/rng.h"

#include <string.h>

#include "base/random.h"
#include "lua/bind/bind.h"
#include "lua/bind/sandbox.h"

#define RNG_TYPE "blis.rng"

enum { NAME_SIZE = 64 };

typedef struct rng {
  blis_random random;
  int64_t seed;
  char name[NAME_SIZE]; /* truncated; for tostring */
} rng;

static blis_random *check_rng(lua_State *L) {
  rng *self = luaL_checkudata(L, 1, RNG_TYPE);
  return &self->random;
}

static rng *push_new(lua_State *L) {
  rng *self = lua_newuserdatauv(L, sizeof *self, 0);
  memset(self, 0, sizeof *self);
  return self;
}

blis_random *push_rng(lua_State *L, const char *name) {
  rng *self = push_new(L);
  strncpy(self->name, name, NAME_SIZE - 1);
  luaL_setmetatable(L, RNG_TYPE);
  return &self->random;
}

int bind_rng_new(lua_State *L) {
  lua_Integer seed = luaL_checkinteger(L, 1);
  const char *name = luaL_optstring(L, 2, NULL);
  rng *self = push_new(L);
  self->seed = seed;
  if (name == NULL) {
    blis_random_init(&self->random, seed);
  } else {
    strncpy(self->name, name, NAME_SIZE - 1);
    blis_random_init_named(&self->random, seed, name);
  }
  luaL_setmetatable(L, RNG_TYPE);
  return 1;
}

/* integer(n): 1 to n. integer(m, n): m to n. */
static int rng_integer(lua_State *L) {
  blis_random *random = check_rng(L);
  lua_Integer low = lua_isnoneornil(L, 3) ? 1 : luaL_checkinteger(L, 2);
  int high_argument = lua_isnoneornil(L, 3) ? 2 : 3;
  lua_Integer high = luaL_checkinteger(L, high_argument);
  luaL_argcheck(L, low <= high, high_argument, "the range is empty");
  uint64_t span = (uint64_t)high - (uint64_t)low;
  luaL_argcheck(L, span < INT32_MAX, high_argument, "the range has more than 2147483647 numbers");
  int32_t drawn = blis_random_intn(random, (int32_t)span + 1);
  lua_pushinteger(L, low + drawn);
  return 1;
}

static int rng_number(lua_State *L) {
  lua_pushnumber(L, blis_random_float64(check_rng(L)));
  return 1;
}

static int rng_exponential(lua_State *L) {
  blis_random *random = check_rng(L);
  double mean = luaL_optnumber(L, 2, 1);
  lua_pushnumber(L, mean * blis_random_exp(random));
  return 1;
}

static int rng_normal(lua_State *L) {
  blis_random *random = check_rng(L);
  double mean = luaL_optnumber(L, 2, 0);
  double std_dev = luaL_optnumber(L, 3, 1);
  lua_pushnumber(L, mean + std_dev * blis_random_normal(random));
  return 1;
}

/* Shuffles in place with the Fisher-Yates algorithm, from the end. */
static int rng_shuffle(lua_State *L) {
  blis_random *random = check_rng(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 2);
  luaL_argcheck(L, count < INT32_MAX, 2, "too many items");
  bind_sandbox_work(L, count > 0 ? count * 4 : 0);
  for (lua_Integer i = count; i > 1; i--) {
    lua_Integer j = 1 + blis_random_intn(random, (int32_t)i);
    lua_geti(L, 2, i);
    lua_geti(L, 2, j);
    lua_seti(L, 2, i);
    lua_seti(L, 2, j);
  }
  lua_settop(L, 2);
  return 1;
}

static int rng_tostring(lua_State *L) {
  const rng *self = luaL_checkudata(L, 1, RNG_TYPE);
  lua_pushfstring(L, "random stream (seed %I%s%s)", (LUAI_UACINT)self->seed,
                  self->name[0] != '\0' ? ", " : "", self->name);
  return 1;
}

static const luaL_Reg rng_meta[] = {{"__tostring", rng_tostring}, {NULL, NULL}};

static const luaL_Reg rng_methods[] = {
    {"integer", rng_integer}, {"number", rng_number},   {"exponential", rng_exponential},
    {"normal", rng_normal},   {"shuffle", rng_shuffle}, {NULL, NULL},
};

void bind_open_rng(lua_State *L) {
  push_new_type(L, RNG_TYPE, rng_meta, rng_methods);
  lua_pop(L, 1);
}
