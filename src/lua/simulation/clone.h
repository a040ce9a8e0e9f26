/*
 * clone.h - copies of a simulation in its current state, and decisions made in advance.
 *
 * A configuration and the sequence of driving calls determine a simulation exactly. A clone is
 * therefore a second simulation with the same configuration, driven by the same calls. This is
 * exact for every policy, engine, and workload, at the cost of repeating the simulation up to that
 * point. Functions of a script are shared. A function with a state outside of the simulation can
 * make the clone differ; the fingerprint detects this if the difference has already had an effect.
 */
#ifndef BLIS_LUA_SIMULATION_CLONE_H
#define BLIS_LUA_SIMULATION_CLONE_H

#include <lua.h>

/* sim:clone() */
int bind_simulation_clone(lua_State *L);

/* sim:pin(request, instance): "request_17", "instance_2" */
int bind_simulation_pin(lua_State *L);

#endif
