/*
 * math_random.h - the random stream behind math.random. While a simulation is driven, math.random
 * uses the stream of the simulation, so equal seeds produce equal runs. While functions of a script
 * generate a workload, it uses the stream of the workload.
 *
 * Loading blis replaces math.random and math.randomseed. Outside of runs they behave as in standard
 * Lua.
 */
#ifndef BLIS_LUA_BIND_MATH_RANDOM_H
#define BLIS_LUA_BIND_MATH_RANDOM_H

#include <lua.h>
#include <stdbool.h>

#include "base/random.h"

struct bind_hooks;

/* A named stream for a seed, created on first use. */
typedef struct bind_script_random {
  struct bind_hooks *hooks; /* hooks of the simulation; NULL for the stream of a workload */
  const char *name;         /* static */
  int64_t seed;
  bool is_ready;
  blis_random random;
} bind_script_random;

/* Replaces the two functions; once per state. */
void bind_open_script_random(lua_State *L);

/*
 * Makes math.random use a stream until bind_script_random_leave is called with the returned value.
 * Calls can be nested and never raise.
 */
bind_script_random *bind_script_random_enter(lua_State *L, bind_script_random *random);
void bind_script_random_leave(lua_State *L, bind_script_random *before);

/*
 * call_seeded(seed, fn, ...): calls fn(...), in which math.random is the workload stream for that
 * seed.
 */
int bind_call_seeded(lua_State *L);

/* Returns the hooks of the simulation that is being driven; NULL outside of runs. */
struct bind_hooks *bind_hooks_driven(lua_State *L);

#endif
