/*
 * trace_tools.h - derives workloads from other workloads and writes them to files.
 * lua/blis/traffic/trace.lua checks the options.
 */
#ifndef BLIS_LUA_TRAFFIC_TRACE_TOOLS_H
#define BLIS_LUA_TRAFFIC_TRACE_TOOLS_H

#include <lua.h>

/* trace_cut(list, options), ...: return a workload. */
int bind_trace_cut(lua_State *L);
int bind_trace_scale(lua_State *L);
int bind_trace_warp(lua_State *L);
int bind_trace_cap(lua_State *L);

/* trace_filter(list, function(request) ... end): returns the requests for which the function
   returns true. */
int bind_trace_filter(lua_State *L);

/* trace_merge({list, ...}, same_content) */
int bind_trace_merge(lua_State *L);

/* trace_write(list, path, options) */
int bind_trace_write(lua_State *L);

/* trace_write_formats(): {name, ...} */
int bind_trace_write_formats(lua_State *L);

#endif
