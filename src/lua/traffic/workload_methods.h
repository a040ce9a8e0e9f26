/*
 * workload_methods.h - the methods of a list of requests.
 */
#ifndef BLIS_LUA_TRAFFIC_WORKLOAD_METHODS_H
#define BLIS_LUA_TRAFFIC_WORKLOAD_METHODS_H

#include <lua.h>

void bind_open_workloads(lua_State *L);

/*
 * workload(spec, notes): a list of everything that a specification generates,
 * with notes, a list of strings.
 */
int bind_workload_new(lua_State *L);

/* workload_methods(): the table of the methods, for the Lua half to add to. */
int bind_workload_methods(lua_State *L);

#endif
