/*
 * scaling.h - instances that come and go, between Lua and the cluster.
 */
#ifndef BLIS_LUA_SIMULATION_SCALING_H
#define BLIS_LUA_SIMULATION_SCALING_H

#include <lua.h>

#include "lua/simulation/simulation.h"

/*
 * From scaling of the configuration at index, if it is there: how many
 * instances there is room for, and the autoscaler, which the simulation has
 * until check_set_scaling gives it to the cluster. May raise.
 */
void check_scaling_room(lua_State *L, int config, bind_simulation *sim);
void check_scaling_policy(lua_State *L, int config, bind_simulation *sim);
/* What an oracle knows of the workload at index; after the policies. */
void check_scaling_future(lua_State *L, int workload, bind_simulation *sim);
void check_set_scaling(lua_State *L, int config, bind_simulation *sim);

/* Sets scaling of the table on top of the stack, if instances come and go. */
void set_scaling(lua_State *L, const bind_simulation *sim, int64_t duration_us);

#endif
