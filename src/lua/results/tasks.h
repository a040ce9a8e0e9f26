/*
 * tasks.h - tasks of session graphs, as figures and one by one.
 */
#ifndef BLIS_LUA_RESULTS_TASKS_H
#define BLIS_LUA_RESULTS_TASKS_H

#include "lua/results/records.h"

/* Pushes the figures of the tasks; false, and nothing, without graphs. */
bool push_tasks(lua_State *L, const bind_records *records, int64_t duration_us);

/* records:tasks(): a list of { program =, state =, ... }, empty without. Raises
   for the requests of graphs in a file of a result, which has no tasks. */
int bind_records_tasks(lua_State *L);

/* records:measured() -> from_us, to_us; or nil */
int bind_records_measured(lua_State *L);

#endif
