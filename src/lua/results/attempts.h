/*
 * attempts.h - the attempts of a cascade as Lua tables.
 */
#ifndef BLIS_LUA_RESULTS_ATTEMPTS_H
#define BLIS_LUA_RESULTS_ATTEMPTS_H

#include <lua.h>

#include "lua/results/records.h"

/*
 * Fields of the table on top of the stack, about the request of a record that
 * took part in a cascade: attempts, steps, model_used and verdict.
 */
void set_record_attempts(lua_State *L, const bind_records *records, const blis_record *record);

/*
 * Adds the attempts that the table at index has, as set_record_attempts left
 * them, to a list made by a script. Raises.
 */
void check_record_attempts(lua_State *L, int index, bind_records *records,
                           const blis_request *request);

/* Pushes the sums over all attempts, as result.cascade has them. */
void push_cascade(lua_State *L, const bind_records *records);

#endif
