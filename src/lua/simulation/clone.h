/*
 * clone.h - copies of a simulation in its current state, and decisions made in
 * advance.
 *
 * A simulation is what its configuration and the way it was driven make of it,
 * to the last bit. So a clone is made anew from the same configuration and
 * driven in the same way again: right for every policy, engine and workload,
 * at the cost of simulating up to that point once more. Functions of a script
 * are shared; one that remembers something outside of the simulation makes the
 * clone another one, which is noticed by its fingerprint where it has already
 * had an effect.
 */
#ifndef BLIS_LUA_SIMULATION_CLONE_H
#define BLIS_LUA_SIMULATION_CLONE_H

#include <lua.h>

/* sim:clone() */
int bind_simulation_clone(lua_State *L);

/* sim:pin(request, instance): "request_17", "instance_2" */
int bind_simulation_pin(lua_State *L);

#endif
