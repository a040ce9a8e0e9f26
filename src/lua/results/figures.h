/*
 * figures.h - percentiles, counts and groups as Lua tables.
 */
#ifndef BLIS_LUA_RESULTS_FIGURES_H
#define BLIS_LUA_RESULTS_FIGURES_H

#include <lua.h>

#include "lua/results/records.h"
#include "results/groups.h"

/* Fields of the table on top, in milliseconds. */
void set_percentiles(lua_State *L, const char *name, const blis_percentiles *d);
void set_counts(lua_State *L, const blis_state_counts *counts);
void set_group(lua_State *L, const blis_group *group);

/* Pushes the groups in order as a list, and each by its name. */
void push_groups(lua_State *L, const bind_records *records, blis_group_key key);

/* Methods of a list of requests: groups(key), window(from_us, to_us), ... */
int bind_records_groups(lua_State *L);
int bind_records_window(lua_State *L);
int bind_records_goodput(lua_State *L);

#endif
