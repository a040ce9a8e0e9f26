/*
 * figures.h - the metrics of results as fields of Lua tables.
 */
#ifndef BLIS_LUA_RESULTS_FIGURES_H
#define BLIS_LUA_RESULTS_FIGURES_H

#include <lua.h>

#include "lua/results/records.h"
#include "results/summary/figure_table.h"
#include "results/summary/groups.h"

/* Fields of the table on top, out of the struct that the list is of. */
void set_figures(lua_State *L, blis_figure_list list, const void *values);

/* figures(): the lists of metrics by name, { result = { { name =, type =, better =, unit =,
 * shown =, doc = }, ... }, ... }; empty strings are omitted. */
int bind_figures(lua_State *L);

/* Pushes the groups in order as a list, and each by its name. */
void push_groups(lua_State *L, const bind_records *records, blis_group_key key);

/* Methods of a list of requests: groups(key), window(from_us, to_us), ... */
int bind_records_groups(lua_State *L);
int bind_records_window(lua_State *L);

/* after_completed(count): metrics of the requests completed after the first count. */
int bind_records_after_completed(lua_State *L);

/* cohort(from_us, to_us): metrics of the completed requests that arrived in this interval. */
int bind_records_cohort(lua_State *L);
int bind_records_goodput(lua_State *L);
int bind_records_goodput_over_time(lua_State *L);

#endif
