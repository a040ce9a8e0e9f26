/*
 * replicas.h - replicas of a routing policy, from a checked definition.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_REPLICAS_H
#define BLIS_LUA_POLICIES_ROUTING_REPLICAS_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/router.h"

/* Makes a router from the definition at index: check_router of routing.h. */
typedef void bind_router_maker(lua_State *L, int index, bind_view *view,
                               const blis_policy_context *context, blis_router *router);

/*
 * Makes *router from the definition at index: { policy = a definition for make, replicas = the
 * options, as lua/blis/feature/routers returns them }. Each replica has its own instances of
 * policies in Lua. The caller owns *router, which borrows view. May raise, and then nothing remains
 * allocated.
 */
void check_replicas(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                    bind_router_maker *make, blis_router *router);

/* Whether the definition at index has replicas. */
bool has_replicas(lua_State *L, int index);

/*
 * Sets fields of the table on top: routers, { requests =, ... } of each replica, and
 * requests_without_router. Nothing without replicas.
 */
void set_replica_reports(lua_State *L, const bind_view *view);

#endif
