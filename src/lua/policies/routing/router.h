/*
 * router.h - a whole routing policy as one Lua function.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_ROUTER_H
#define BLIS_LUA_POLICIES_ROUTING_ROUTER_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/router.h"

/*
 * Makes *router from the definition at index: a table with name and route, a
 * function(request, instances) that returns the index of a candidate and
 * perhaps a priority, or what blis.reject returns; and perhaps observe, and
 * what listening.h reads. The caller owns *router, which borrows view. May
 * raise, and then nothing is left behind.
 */
void check_scripted_router(lua_State *L, int index, bind_view *view, blis_router *router);

#endif
