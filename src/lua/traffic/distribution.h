/*
 * distribution.h - lengths and arrivals from tables that the Lua half has checked.
 *
 * Results borrow from the tables and from buffers. The table at index keep owns the buffers. All
 * functions may raise.
 */
#ifndef BLIS_LUA_TRAFFIC_DISTRIBUTION_H
#define BLIS_LUA_TRAFFIC_DISTRIBUTION_H

#include <lua.h>

#include "workload/spec/workload_spec.h"

/* Appends the value on top of the stack to the table at keep, and pops it. */
void keep_on_top(lua_State *L, int keep);

/* Pushes a field: a table, or nil and false if it is not set. */
bool opt_part(lua_State *L, int index, const char *name);

/* {type =, params = {{name, value}, ...}} */
void check_distribution(lua_State *L, int table, int keep, blis_distribution_spec *spec);

/* {process =, cv =, shape =, scale =} */
void check_arrival(lua_State *L, int table, blis_arrival_spec *spec);

/*
 * check_distribution(spec, where), check_arrival(spec, where): raise the error of a part of a
 * specification. check_arrival returns a note to the user, if there is a reason for it.
 */
int bind_check_distribution(lua_State *L);
int bind_check_arrival(lua_State *L);

#endif
