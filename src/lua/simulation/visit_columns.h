/*
 * visit_columns.h - where requests were and in which states instances, as
 * columns for Lua.
 */
#ifndef BLIS_LUA_SIMULATION_VISIT_COLUMNS_H
#define BLIS_LUA_SIMULATION_VISIT_COLUMNS_H

#include "lua/bind/bind.h"
#include "results/log/visit_log.h"

/* Each pushes a table of columns of equal length; the log is sorted. id_digits is of the ids of
   instances. */
void push_visits(lua_State *L, const blis_visit_log *log, int id_digits);
void push_preemptions(lua_State *L, const blis_visit_log *log, int id_digits);
void push_states(lua_State *L, const blis_visit_log *log, int id_digits);

#endif
