/*
 * spread.h - how request times are distributed, for charts.
 */
#ifndef BLIS_LUA_RESULTS_SPREAD_H
#define BLIS_LUA_RESULTS_SPREAD_H

#include <lua.h>

/*
 * Method of a list of requests: spread(name, from_us, to_us, intervals) counts
 * the requests by a time, "ttft_us", "itl_us" (the request's mean), "e2e_us" or
 * "scheduling_delay_us", in so many equal intervals. Times outside belong to
 * the nearest one; requests without that time are left out. O(requests).
 */
int bind_records_spread(lua_State *L);

/*
 * Method of a list of requests: within(name, limits_us) counts the requests
 * with such a time within each of the ascending limits, as a list, and returns
 * how many have that time at all. O(requests * log limits).
 */
int bind_records_within(lua_State *L);

#endif
