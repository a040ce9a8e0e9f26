/*
 * math_random.h - the source of math.random. While a simulation is driven, it is the simulation's
 * stream, so equal seeds produce equal runs. While functions of a script draw a workload, it is the
 * workload's stream.
 *
 * Loading blis replaces math.random and math.randomseed. Outside of runs they behave as before.
 */
#ifndef BLIS_LUA_BIND_MATH_RANDOM_H
#define BLIS_LUA_BIND_MATH_RANDOM_H

#include <lua.h>
#include <stdbool.h>

#include "base/random.h"

struct bind_hooks;

/* The stream of that name under a seed; made at its first use. */
typedef struct bind_script_random {
  struct bind_hooks *hooks; /* of the simulation; NULL = of a workload */
  const char *name;         /* static */
  int64_t seed;
  bool is_ready;
  blis_random random;
} bind_script_random;

/* Replaces the two functions; once per state. */
void bind_open_script_random(lua_State *L);

/*
 * From here to leave, with what enter returned, math.random is that stream.
 * They nest, and never raise.
 */
bind_script_random *bind_script_random_enter(lua_State *L, bind_script_random *random);
void bind_script_random_leave(lua_State *L, bind_script_random *before);

/*
 * call_seeded(seed, fn, ...): fn(...), in which math.random is the stream of
 * the workload with that seed.
 */
int bind_call_seeded(lua_State *L);

/* Hooks of the simulation that is being driven; NULL outside of runs. */
struct bind_hooks *bind_hooks_driven(lua_State *L);

#endif
