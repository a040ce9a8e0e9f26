/*
 * faults.h - faults that an experiment declares, between Lua and the cluster.
 */
#ifndef BLIS_LUA_SIMULATION_FAULTS_H
#define BLIS_LUA_SIMULATION_FAULTS_H

#include <lua.h>

#include "lua/simulation/simulation.h"

/* From faults of the configuration at index, if there are any. May raise. */
void check_set_faults(lua_State *L, int config, const bind_simulation *sim);

/* Sets faults of the table on top of the stack, what became of them, and
   presence, how many instances there were. */
void set_faults(lua_State *L, const bind_simulation *sim);

#endif
