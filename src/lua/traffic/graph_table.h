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
#include "workload/graph/graph.h"

/*
 * Builds the graph of the table at index. where and number identify it in messages. Strings are
 * interned. May raise; the builder remains usable for the next graph.
 */
blis_graph check_graph(lua_State *L, int index, const char *where, lua_Integer number,
                       blis_graph_builder *builder, blis_intern *strings);

/* check_graph(table, where, number): raises an error if the graph is invalid. */
int bind_check_graph(lua_State *L);

#endif
