/*
 * steps.h - the steps of instances as Lua columns.
 */
#ifndef BLIS_LUA_RESULTS_STEPS_H
#define BLIS_LUA_RESULTS_STEPS_H

#include <lua.h>

#include "results/log/step_log.h"

/*
 * Pushes { merged =, instances = { { steps = {...}, start_us =, ... }, ... } }: one column for each
 * member of blis_step_entry.
 */
void push_steps(lua_State *L, const blis_step_log *log);

#endif
