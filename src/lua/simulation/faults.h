/*
 * faults.h - faults that an experiment declares, between Lua and the cluster.
 */
#ifndef BLIS_LUA_SIMULATION_FAULTS_H
#define BLIS_LUA_SIMULATION_FAULTS_H

#include <lua.h>

#include "lua/simulation/simulation.h"

/* Sets the faults of the configuration at index, if it has any. May raise. */
void check_set_faults(lua_State *L, int config, const bind_simulation *sim);

/*
 * add_faults(sim, {{at_us =, instance =, kind =, ...}, ...}): adds faults to a run that has begun.
 * Raises if one is out of range.
 */
int bind_add_faults(lua_State *L);

/* Sets two fields of the table on top of the stack: `faults` contains the faults and their
   effects, and `presence` contains the number of instances over time. */
void set_faults(lua_State *L, const bind_simulation *sim);

#endif
