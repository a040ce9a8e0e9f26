/*
 * spread.h - histograms of request times for text charts.
 */
#ifndef BLIS_LUA_RESULTS_SPREAD_H
#define BLIS_LUA_RESULTS_SPREAD_H

#include <lua.h>

/*
 * Method of a list of requests: spread(name, from_us, to_us, intervals) counts
 * the requests by a time, "ttft_us", "e2e_us" or "scheduling_delay_us", in so
 * many equal intervals. Times outside belong to the nearest one; requests
 * without that time are left out. O(requests).
 */
int bind_records_spread(lua_State *L);

#endif
