/*
 * workload.h - in-memory lists of requests (traces and generated workloads) as a userdata, and
 * their requests and statistics as tables.
 */
#ifndef BLIS_LUA_TRAFFIC_WORKLOAD_H
#define BLIS_LUA_TRAFFIC_WORKLOAD_H

#include <lua.h>

#include "workload/statistics.h"
#include "workload/workload.h"

#define WORKLOAD_TYPE "blis.workload"

/* Pushes a userdata without requests; set *workload to give it some. */
blis_workload **push_workload(lua_State *L);

/* Pushes the request with this index as a table. */
void push_workload_request(lua_State *L, const blis_workload *workload, size_t index);

/* Pushes any request as a table. */
void push_recorded_request(lua_State *L, const blis_request *request, const blis_intern *strings);

/* Pushes the measured statistics, with the requested block size. */
void push_statistics(lua_State *L, const blis_workload_statistics *measured,
                     lua_Integer block_size);

/* Returns the block size, which is argument 2 of statistics([block_size]). */
uint32_t check_block_size(lua_State *L);

/* Pushes { { slo_class =, ttft_ms =, itl_ms =, e2e_ms = }, ... }; 0 = none. */
void push_goodput_targets(lua_State *L, const blis_goodput_target *targets, size_t count);

/* Pushes the notes as a list. */
void push_notes(lua_State *L, const blis_workload *workload);

/* Returns the workload at index; raises if the value is not a workload. */
const blis_workload *check_workload(lua_State *L, int index);

#endif
