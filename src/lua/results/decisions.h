/*
 * decisions.h - the trace of a run's decisions as a read-only list of tables, which are created
 * when they are read.
 */
#ifndef BLIS_LUA_RESULTS_DECISIONS_H
#define BLIS_LUA_RESULTS_DECISIONS_H

#include <lua.h>

#include "lua/results/records.h"

void bind_open_decisions(lua_State *L);

/* Pushes the list of decisions for the records at index, which the list keeps alive. */
void push_decisions(lua_State *L, int index);

#endif
