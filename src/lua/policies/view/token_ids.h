/*
 * token_ids.h - the tokens of a prompt for policies in Lua that look at them.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_TOKEN_IDS_H
#define BLIS_LUA_POLICIES_VIEW_TOKEN_IDS_H

#include <lua.h>

/*
 * token_ids(request [, first [, last]]): a list of numbers below 2^32, of the
 * request that a decision is about. Tokens are never stored; two of these are
 * equal when the tokens are, and else hardly ever. O(last - first).
 */
int bind_token_ids(lua_State *L);

#endif
