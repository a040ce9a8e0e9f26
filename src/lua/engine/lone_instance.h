/*
 * lone_instance.h - one serving engine without a cluster, for scripts that
 * bring a loop of their own: it is given requests, stepped and looked at.
 */
#ifndef BLIS_LUA_ENGINE_LONE_INSTANCE_H
#define BLIS_LUA_ENGINE_LONE_INSTANCE_H

#include <lua.h>

void bind_open_lone_instances(lua_State *L);

/* instance(cluster): the options of a cluster, of which there is one. */
int bind_lone_instance_new(lua_State *L);

#endif
