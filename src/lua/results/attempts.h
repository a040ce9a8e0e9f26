/*
 * attempts.h - the attempts of a cascade as Lua tables.
 */
#ifndef BLIS_LUA_RESULTS_ATTEMPTS_H
#define BLIS_LUA_RESULTS_ATTEMPTS_H

#include <lua.h>

#include "lua/results/records.h"

/*
 * Sets the fields of the record on top of the stack about the attempts of its request in a
 * cascade: attempts, steps, model_used, and verdict.
 */
void set_record_attempts(lua_State *L, const bind_records *records, const blis_record *record);

/*
 * Adds the attempts of the record at index, in the form of set_record_attempts, to a list that a
 * script has created. May raise.
 */
void check_record_attempts(lua_State *L, int index, bind_records *records,
                           const blis_record *record);

/* Pushes the sums over all attempts, which become result.cascade. */
void push_cascade(lua_State *L, const bind_records *records);

#endif
