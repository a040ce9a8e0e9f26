/*
 * construct.h - creates a simulation from a checked configuration.
 */
#ifndef BLIS_LUA_SIMULATION_CONSTRUCT_H
#define BLIS_LUA_SIMULATION_CONSTRUCT_H

#include <lua.h>

/* simulation(config) */
int bind_simulation_new(lua_State *L);

#endif
