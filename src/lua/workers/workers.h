/*
 * workers.h - worker processes for Lua: forked copies of the program that call a function for
 * numbered tasks.
 */
#ifndef BLIS_LUA_WORKERS_WORKERS_H
#define BLIS_LUA_WORKERS_WORKERS_H

#include <lua.h>

void bind_open_workers(lua_State *L);

/*
 * workers{jobs=, time_limit_us=, memory_limit_bytes=, is_fresh=, work=} creates a pool that calls
 * work(task), which returns a string, in worker processes (worker_pool.h). Methods:
 * - submit(task[, time_limit_us])
 * - cancel(task)
 * - wait([timeout_us[, for_input[, for_output]]]) returns task, outcome, string, detail or nothing
 * - pending()
 * - close()
 */
int bind_workers_new(lua_State *L);

#endif
