/*
 * lua_random.h - math.random while a simulation is being driven: numbers of
 * that simulation's own stream, so that equal seeds give equal runs.
 *
 * math.random and math.randomseed are replaced when blis is loaded; outside of
 * runs they are what they were.
 */
#ifndef BLIS_LUA_LUA_RANDOM_H
#define BLIS_LUA_LUA_RANDOM_H

#include <lua.h>
#include <stdbool.h>

#include "base/random.h"

struct bind_hooks;

/* A simulation's stream, "scripts" under its seed; made when it is used. */
typedef struct bind_script_random {
  struct bind_hooks *hooks; /* of the simulation */
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
bind_script_random *bind_script_random_enter(lua_State *L,
                                             bind_script_random *random);
void bind_script_random_leave(lua_State *L, bind_script_random *before);

/* Hooks of the simulation that is being driven; NULL outside of runs. */
struct bind_hooks *bind_hooks_driven(lua_State *L);

#endif
