/* timeline_log.h - the data of timelines in addition to records and steps. */
#ifndef BLIS_LUA_SIMULATION_TIMELINE_LOG_H
#define BLIS_LUA_SIMULATION_TIMELINE_LOG_H

#include "lua/simulation/simulation.h"

/*
 * Pushes { left_out =, visits =, preemptions =, states =, loads =, moves =,
 * joins = }: columns of where requests were, of preemptions, of the states of
 * instances; and of the loads of adapters, of reads and writes of KV tiers and
 * of who waited for whom, each where there can be some.
 */
void push_timeline_log(lua_State *L, bind_simulation *sim);

#endif
