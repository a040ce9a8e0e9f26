/*
 * router.h - a whole routing policy as one Lua function.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_ROUTER_H
#define BLIS_LUA_POLICIES_ROUTING_ROUTER_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/router.h"

/*
 * Creates *router from the definition at index: a table with name, route, and optionally observe
 * and the fields of listening.h. route(request, instances) returns the index of a candidate and
 * optionally a priority, or the result of blis.reject. The caller owns *router, which borrows view.
 * May raise; in this case nothing remains allocated.
 */
void check_scripted_router(lua_State *L, int index, bind_view *view, blis_router *router);

#endif
