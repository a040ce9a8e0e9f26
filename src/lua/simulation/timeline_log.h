/* timeline_log.h - the data of timelines that records and steps do not contain. */
#ifndef BLIS_LUA_SIMULATION_TIMELINE_LOG_H
#define BLIS_LUA_SIMULATION_TIMELINE_LOG_H

#include "lua/simulation/simulation.h"

/*
 * Pushes { left_out =, visits =, preemptions =, states =, loads =, moves =, joins = }. The lists
 * are columns: visits of requests, preemptions, and states of instances. loads (of adapters), moves
 * (reads and writes of KV tiers), and joins (waits for other requests) are set only if they can
 * occur.
 */
void push_timeline_log(lua_State *L, bind_simulation *sim);

#endif
