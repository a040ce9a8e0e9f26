/* graph_source.h - session graphs as the requests of a run, from a function of a script (created
 * when they start) or from a file. */
#ifndef BLIS_LUA_TRAFFIC_GRAPH_SOURCE_H
#define BLIS_LUA_TRAFFIC_GRAPH_SOURCE_H

#include <lua.h>

#include "lua/bind/hook.h"
#include "lua/traffic/graph_table.h"
#include "workload/graph/player.h"

/* Must be zeroed before use, and must not move after push_graphs. */
typedef struct bind_graphs {
  bind_hooks *hooks; /* hooks of the run; NULL = graphs are unavailable */
  int function;      /* index of the function in the anchor; 0 = none */
  lua_Integer count; /* requested number of graphs */
  bind_graph_maker maker;
  struct blis_graph_file *file; /* used instead of a function; may be NULL */
  blis_graph_player *player;
} bind_graphs;

/* Returns whether the value at index describes graphs. */
bool bind_is_graphs(lua_State *L, int index);

/*
 * Starts *graphs from the table at index, {graphs = factory, rate =, ...}, or from a userdata of
 * graph_file.h. The factory returns a function(number) that returns a graph or nil. hooks may be
 * NULL if the caller only checks whether requests depend on other requests. May raise.
 */
void check_graphs(lua_State *L, int index, bind_hooks *hooks, bind_graphs *graphs);

/* Idempotent. Never raises. */
void bind_graphs_close(bind_graphs *graphs);

#endif
