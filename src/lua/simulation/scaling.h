/*
 * scaling.h - scaling options and results, between Lua and the cluster.
 */
#ifndef BLIS_LUA_SIMULATION_SCALING_H
#define BLIS_LUA_SIMULATION_SCALING_H

#include <lua.h>

#include "lua/simulation/simulation.h"

/*
 * Reads the field scaling of the configuration at index, if present: the maximum number of starts
 * and the autoscaler, which the simulation owns until check_set_scaling passes it to the cluster.
 * May raise.
 */
void check_scaling_room(lua_State *L, int config, bind_simulation *sim);
void check_scaling_policy(lua_State *L, int config, bind_simulation *sim);
/* Sets the future arrivals of the workload at index, for an oracle. Call it after the policies
   have been created. */
void check_scaling_future(lua_State *L, int workload, bind_simulation *sim);
void check_set_scaling(lua_State *L, int config, bind_simulation *sim);

/* Sets the field scaling of the table on top of the stack, if the number of instances can
   change. */
void set_scaling(lua_State *L, const bind_simulation *sim, int64_t duration_us);

#endif
