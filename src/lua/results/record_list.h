/*
 * record_list.h - the records of a run in Lua: a read-only list of tables in order of arrival,
 * which are created when they are read.
 */
#ifndef BLIS_LUA_RESULTS_RECORD_LIST_H
#define BLIS_LUA_RESULTS_RECORD_LIST_H

#include <lua.h>

void bind_open_records(lua_State *L);

/* records(): returns an empty list; fill it with list:add(record). */
int bind_records_new(lua_State *L);

#endif
