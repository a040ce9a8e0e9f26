/*
 * workload_methods.h - the methods of a list of requests.
 */
#ifndef BLIS_LUA_TRAFFIC_WORKLOAD_METHODS_H
#define BLIS_LUA_TRAFFIC_WORKLOAD_METHODS_H

#include <lua.h>

void bind_open_workloads(lua_State *L);

/*
 * workload(spec, notes): returns the list of all requests that a specification generates, with
 * notes, a list of strings.
 */
int bind_workload_new(lua_State *L);

/* workload_methods(): returns the table of methods, to which the Lua half adds more. */
int bind_workload_methods(lua_State *L);

#endif
