/*
 * graph_table.h - session graphs in scripts.
 *
 * Each request is listed after the requests that it waits for. Example:
 *
 *   { name = "task 7", tenant = "team-a",
 *     { id = "plan", prompt_tokens = 3000, output_tokens = 200 },
 *     { id = "search", after = "plan", tool_us = 800000, prompt_tokens = 900,
 *       output_tokens = 60 },
 *     { after = { "plan", "search" }, prompt_tokens = 50, output_tokens = 400 } }
 */
#ifndef BLIS_LUA_TRAFFIC_GRAPH_TABLE_H
#define BLIS_LUA_TRAFFIC_GRAPH_TABLE_H

#include <lua.h>

#include "base/containers/intern.h"
#include "workload/graph/blocks.h"
#include "workload/graph/graph.h"

/* What the graphs of one source are built with. Must be zeroed before bind_graph_maker_init. */
typedef struct bind_graph_maker {
  blis_graph_builder builder;
  blis_intern *strings; /* of the requests */
  blis__blocks blocks;  /* the hash ids that all graphs share */
} bind_graph_maker;

/* May raise; bind_graph_maker_close is still required. */
void bind_graph_maker_init(lua_State *L, bind_graph_maker *maker);

/* Idempotent. Never raises. */
void bind_graph_maker_close(bind_graph_maker *maker);

/*
 * Builds the graph of the table at index, valid until the next graph. where and number identify it
 * in messages. Strings are interned. May raise; the maker remains usable for the next graph.
 */
blis_graph check_graph(lua_State *L, int index, const char *where, lua_Integer number,
                       bind_graph_maker *maker);

/* check_graph(table, where, number): raises an error if the graph is invalid; returns the number of
   its requests. */
int bind_check_graph(lua_State *L);

/* check_graphs(list, where): raises an error if a graph of the list is invalid; returns the number
   of requests of all graphs. */
int bind_check_graphs(lua_State *L);

/* show_graph(table, where, number): returns the graph as a table with the contexts, sessions, and
   rounds of its requests, as in the list of a graph file. */
int bind_show_graph(lua_State *L);

#endif
