/*
 * lua_ask.h - the methods of policies: scripts ask built-in or other policies
 * in the middle of a decision.
 */
#ifndef BLIS_LUA_POLICIES_ASK_H
#define BLIS_LUA_POLICIES_ASK_H

#include <lua.h>

/*
 * scorer:score(request, instance) -> number, scorer:score(request, columns) ->
 * vector, scorer:score_all(request, instances, scores?) -> scores
 */
int bind_ask_score(lua_State *L);
int bind_ask_score_all(lua_State *L);

#endif
