/*
 * turned_away.h - why requests were not served.
 */
#ifndef BLIS_LUA_RESULTS_TURNED_AWAY_H
#define BLIS_LUA_RESULTS_TURNED_AWAY_H

#include <lua.h>

/*
 * Method of a list of requests: turned_away() lists the ends of requests that
 * were rejected, failed, unservable or timed out, each with its reason: {
 * state =, reason =, requests = how many, first = place of the first }, in the
 * order of their first ones. O(requests).
 */
int bind_records_turned_away(lua_State *L);

#endif
