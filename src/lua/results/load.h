/*
 * load.h - what happened over time, and to the slowest requests, for pictures.
 */
#ifndef BLIS_LUA_RESULTS_LOAD_H
#define BLIS_LUA_RESULTS_LOAD_H

#include <lua.h>

/*
 * Method of a list of requests: load(instances, to_us, intervals) returns a
 * table of results/load.h: lists arrived and completed, and instances, a list
 * of { waiting = list, running = list }.
 */
int bind_records_load(lua_State *L);

/* The same: slowest(count) lists the places of the slowest requests. */
int bind_records_slowest(lua_State *L);

#endif
