/*
 * result.h - the summary of a run as a plain Lua table.
 */
#ifndef BLIS_LUA_SIMULATION_RESULT_H
#define BLIS_LUA_SIMULATION_RESULT_H

#include <lua.h>

#include "lua/simulation/simulation.h"

/* Pushes the summary of a finished simulation; lua/blis/results/result.lua
 * wraps it. */
void push_summary(lua_State *L, int index, bind_simulation *sim);

#endif
