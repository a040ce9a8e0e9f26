/*
 * request_table.h - requests from tables: { arrival_us =, prompt_tokens =, output_tokens =, tenant
 * =, ... }. Functions may make or change lists of them. All are read before the simulation starts,
 * so a run does not depend on when the function is called.
 */
#ifndef BLIS_LUA_TRAFFIC_REQUEST_TABLE_H
#define BLIS_LUA_TRAFFIC_REQUEST_TABLE_H

#include <lua.h>

/*
 * workload_of_function(fn, place, limit, horizon_us[, name[, description]]): the requests that fn
 * returns until it returns nil, limit requests exist, or a request arrives at the horizon (0: no
 * limit, no horizon). They arrive in order. Without a limit it raises after 5,000,000 requests, and
 * after 1,000,000 consecutive requests with one arrival time. Messages call the list place, and the
 * function name.
 */
int bind_workload_of_function(lua_State *L);

/*
 * workload:map(fn): a new list. fn gets each request as a table and returns a
 * table of what changes (the same one will do), or nil to leave the request
 * out. Content stays as it is.
 */
int bind_workload_map(lua_State *L);

#endif
