/*
 * trace_stream.h - traces that are read from their files on demand, as userdata.
 */
#ifndef BLIS_LUA_TRAFFIC_TRACE_STREAM_H
#define BLIS_LUA_TRAFFIC_TRACE_STREAM_H

#include <lua.h>

#include "workload/trace/read/stream.h"
#include "workload/trace/read/trace.h"

#define TRACE_STREAM_TYPE "blis.trace_stream"

void bind_open_trace_streams(lua_State *L);

/* trace_stream(path, options): returns a stream. */
int bind_trace_stream_new(lua_State *L);

/* trace_open(path, options): returns a stream, or a list if the file is small. */
int bind_trace_open(lua_State *L);

/* stream_methods(): returns the table of methods, to which the Lua half adds more. */
int bind_stream_methods(lua_State *L);

/* Pushes a userdata without a stream; set *stream to give it one. */
blis_trace_stream **push_trace_stream(lua_State *L);

/* Returns the stream at index; raises if the value is not a stream. */
blis_trace_stream *check_trace_stream(lua_State *L, int index);

/* Pushes a cursor that starts at the first request of a stream. */
blis_trace_cursor *push_trace_cursor(lua_State *L, blis_trace_stream *stream);

/* Returns the options of a trace from the table at index. The options borrow from the table. */
blis_trace_options check_trace_options(lua_State *L, int index);

#endif
