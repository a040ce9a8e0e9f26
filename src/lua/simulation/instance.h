/*
 * instance.h - the live instances of a simulation as userdata.
 */
#ifndef BLIS_LUA_SIMULATION_INSTANCE_H
#define BLIS_LUA_SIMULATION_INSTANCE_H

#include <lua.h>

#include "lua/simulation/simulation.h"

void bind_open_instances(lua_State *L);

/*
 * sim:change_instance(number from 0, method, argument): executes a method of an instance, in a form
 * that clones can repeat.
 */
int bind_simulation_change_instance(lua_State *L);

/* Pushes the list of the instances of the simulation at index. */
void push_instances(lua_State *L, int index, const bind_simulation *sim);

#endif
