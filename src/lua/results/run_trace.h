/*
 * run_trace.h - the recorded requests of a run as a workload or a trace file.
 */
#ifndef BLIS_LUA_RESULTS_RUN_TRACE_H
#define BLIS_LUA_RESULTS_RUN_TRACE_H

#include <lua.h>

/* run_requests(records): returns a workload, or nil. */
int bind_run_requests(lua_State *L);

/* run_trace_write(records, path, options): writes a trace that includes the outcome of each
   request. */
int bind_run_trace_write(lua_State *L);

#endif
