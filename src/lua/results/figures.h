/*
 * figures.h - the metrics of results as fields of Lua tables.
 */
#ifndef BLIS_LUA_RESULTS_FIGURES_H
#define BLIS_LUA_RESULTS_FIGURES_H

#include <lua.h>

#include "lua/results/records.h"
#include "results/summary/figure_table.h"
#include "results/summary/groups.h"

/* Sets fields of the table on top of the stack from the struct that the list describes. */
void set_figures(lua_State *L, blis_figure_list list, const void *values);

/*
 * figures(): returns the lists of metrics by name, { result = { { name =, type =, better =, unit =,
 * shown =, doc = }, ... }, ... }; empty strings are omitted.
 */
int bind_figures(lua_State *L);

/* Pushes a table of the groups, both as an ordered list and by name. */
void push_groups(lua_State *L, const bind_records *records, blis_group_key key);

/* Methods of a list of requests: groups(key), window(from_us, to_us), ... */
int bind_records_groups(lua_State *L);
int bind_records_window(lua_State *L);

/* after_completed(count): returns metrics of the requests completed after the first count ones. */
int bind_records_after_completed(lua_State *L);

/* cohort(from_us, to_us): returns metrics of the completed requests that arrived in this
   interval. */
int bind_records_cohort(lua_State *L);
int bind_records_goodput(lua_State *L);
int bind_records_goodput_over_time(lua_State *L);

#endif
