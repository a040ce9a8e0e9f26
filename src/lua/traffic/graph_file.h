/*
 * graph_file.h - session graphs from a file, as a userdata.
 */
#ifndef BLIS_LUA_TRAFFIC_GRAPH_FILE_H
#define BLIS_LUA_TRAFFIC_GRAPH_FILE_H

#include <lua.h>

#include "workload/graph/file.h"

#define GRAPH_FILE_TYPE "blis.graph_file"

typedef struct bind_graph_file {
  blis_graph_file *file;
  blis_intern *strings;
} bind_graph_file;

void bind_open_graph_files(lua_State *L);

/* graph_file(path, options): reads the file once. May raise. */
int bind_graph_file_new(lua_State *L);

/* graph_formats(): { { name =, summary =, needs = }, ... } */
int bind_graph_formats(lua_State *L);

/* Pushes a graph as a list of requests; strings are those of the graph. */
void push_graph(lua_State *L, const blis_graph *graph, const blis_intern *strings);

/* Returns the graph file at index, or NULL if the value is something else. */
blis_graph_file *bind_graph_file_at(lua_State *L, int index);

#endif
