/*
 * timeline_log.h - what timelines show beside records and steps.
 */
#ifndef BLIS_LUA_SIMULATION_TIMELINE_LOG_H
#define BLIS_LUA_SIMULATION_TIMELINE_LOG_H

#include "lua/simulation/simulation.h"

/*
 * Pushes { left_out =, loads =, moves =, joins = }: columns of the loads of
 * adapters, of reads and writes of KV tiers and of who waited for whom, each
 * where there can be some.
 */
void push_timeline_log(lua_State *L, const bind_simulation *sim);

#endif
