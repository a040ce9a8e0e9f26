/*
 * token_ids.h - the tokens of a prompt, for Lua policies that read them.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_TOKEN_IDS_H
#define BLIS_LUA_POLICIES_VIEW_TOKEN_IDS_H

#include <lua.h>

/*
 * token_ids(request [, first [, last]]): returns a list of numbers below 2^32 for the request of
 * the current decision. Tokens are never stored: equal tokens have equal numbers, and different
 * tokens almost always have different numbers. O(last - first).
 */
int bind_token_ids(lua_State *L);

#endif
