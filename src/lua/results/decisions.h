/*
 * decisions.h - the trace of decisions of a run as a read-only list of
 * tables, made when they are read.
 */
#ifndef BLIS_LUA_RESULTS_DECISIONS_H
#define BLIS_LUA_RESULTS_DECISIONS_H

#include <lua.h>

#include "lua/results/records.h"

void bind_open_decisions(lua_State *L);

/* Pushes the list of the records at index, which it keeps alive. */
void push_decisions(lua_State *L, int index);

#endif
