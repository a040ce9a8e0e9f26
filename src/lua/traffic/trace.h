/*
 * trace.h - blis.trace: recorded requests from files.
 */
#ifndef BLIS_LUA_TRAFFIC_TRACE_H
#define BLIS_LUA_TRAFFIC_TRACE_H

#include <lua.h>

/* trace_read(path, options): a workload. */
int bind_trace_read(lua_State *L);

/* trace_explain(path, options): a line for each format, why a file is not of it. */
int bind_trace_explain(lua_State *L);

/* trace_formats(): {{name =, summary =}, ...} */
int bind_trace_formats(lua_State *L);

#endif
