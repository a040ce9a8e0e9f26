/*
 * lone_instance.h - one serving engine without a cluster, for scripts with their own loop: a script
 * submits requests, runs steps, and reads the state.
 */
#ifndef BLIS_LUA_ENGINE_LONE_INSTANCE_H
#define BLIS_LUA_ENGINE_LONE_INSTANCE_H

#include <lua.h>

void bind_open_lone_instances(lua_State *L);

/* instance(cluster): creates an engine from the options of a cluster with one instance. */
int bind_lone_instance_new(lua_State *L);

#endif
