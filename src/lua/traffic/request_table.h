/*
 * request_table.h - requests from tables: { arrival_us =, prompt_tokens =, output_tokens =, tenant
 * =, ... }. Functions may create or change lists of requests. All requests are read before the
 * simulation starts, so a run does not depend on when a function is called.
 */
#ifndef BLIS_LUA_TRAFFIC_REQUEST_TABLE_H
#define BLIS_LUA_TRAFFIC_REQUEST_TABLE_H

#include <lua.h>

/*
 * workload_of_function(fn, place, limit, horizon_us[, name[, description]]): the requests that fn
 * returns until it returns nil, limit requests exist, or a request arrives at the horizon (0: no
 * limit, no horizon). They arrive in order. Without a limit, it raises after 5,000,000 requests,
 * and after 1,000,000 consecutive requests with the same arrival time. In messages, place
 * identifies the list and name identifies the function.
 */
int bind_workload_of_function(lua_State *L);

/*
 * workload:map(fn): returns a new list. fn receives each request as a table and returns a table of
 * changes (the same table is allowed), or nil to omit the request. Content is unchanged.
 */
int bind_workload_map(lua_State *L);

#endif
