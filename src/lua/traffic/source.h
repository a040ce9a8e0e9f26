/*
 * source.h - the requests of one run: from a list, a streamed trace file, a replay, session graphs,
 * or a specification.
 */
#ifndef BLIS_LUA_TRAFFIC_SOURCE_H
#define BLIS_LUA_TRAFFIC_SOURCE_H

#include <lua.h>

#include "lua/traffic/graph_source.h"
#include "workload/workload.h"

/* The requests of one run and their source. Must be zeroed before use. */
typedef struct bind_source {
  struct blis_generator *generator;
  struct blis_replay *replay;
  struct blis_trace_cursor *stream;
  bind_graphs graphs;            /* no graphs if it has no player */
  struct blis_source_copy *copy; /* NULL unless requests are kept */
  struct blis_adapter_mix *mix;  /* NULL unless adapters are assigned */
  blis_workload_cursor cursor;
  blis_request_source source; /* valid while the bind_source does not move */
} bind_source;

/*
 * Starts *source from the value at index: a workload userdata (which must outlive *source, like the
 * table of a replay), a stream, or a specification. May raise; bind_source_close can always be
 * called. hooks are the hooks of the run, or NULL.
 */
void check_source(lua_State *L, int index, bind_hooks *hooks, bind_source *source);

/*
 * Assigns adapters to later requests that have none, with the weights in the table at index, {
 * adapters = { { id =, weight = }, ... } }. Without weights, has no effect.
 */
void check_adapter_mix(lua_State *L, int index, int64_t seed, bind_source *source);

/* Stores all later requests. */
void check_source_copy(lua_State *L, bind_source *source);

/* Idempotent. Never raises. */
void bind_source_close(bind_source *source);

#endif
