/*
 * trace.h - blis.trace: recorded requests from files.
 */
#ifndef BLIS_LUA_TRAFFIC_TRACE_H
#define BLIS_LUA_TRAFFIC_TRACE_H

#include <lua.h>

/* trace_read(path, options): returns a workload. */
int bind_trace_read(lua_State *L);

/* trace_explain(path, options): returns one line for each format that explains why the file does
   not have this format. */
int bind_trace_explain(lua_State *L);

/* trace_formats(): returns {{name =, summary =}, ...} */
int bind_trace_formats(lua_State *L);

#endif
