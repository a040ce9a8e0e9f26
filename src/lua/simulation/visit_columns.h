/*
 * visit_columns.h - the locations of requests and the states of instances over time, as columns for
 * Lua.
 */
#ifndef BLIS_LUA_SIMULATION_VISIT_COLUMNS_H
#define BLIS_LUA_SIMULATION_VISIT_COLUMNS_H

#include "lua/bind/bind.h"
#include "results/log/visit_log.h"

/* Each function pushes a table of columns of equal length. The log must be sorted. id_digits is
   the number of digits of instance ids. */
void push_visits(lua_State *L, const blis_visit_log *log, int id_digits);
void push_preemptions(lua_State *L, const blis_visit_log *log, int id_digits);
void push_states(lua_State *L, const blis_visit_log *log, int id_digits);

#endif
