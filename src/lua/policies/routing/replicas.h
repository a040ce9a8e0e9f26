/*
 * replicas.h - creates replicas of a routing policy from a checked definition.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_REPLICAS_H
#define BLIS_LUA_POLICIES_ROUTING_REPLICAS_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/router.h"

/* Creates a router from the definition at index, like check_router of routing.h. */
typedef void bind_router_maker(lua_State *L, int index, bind_view *view,
                               const blis_policy_context *context, blis_router *router);

/*
 * Creates *router from the definition at index: { policy = a definition for make, replicas = the
 * options in the form that lua/blis/feature/routers returns }. Each replica has its own copy of Lua
 * policies. The caller owns *router, which borrows view. May raise; in this case nothing remains
 * allocated.
 */
void check_replicas(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                    bind_router_maker *make, blis_router *router);

/* Returns whether the definition at index has replicas. */
bool has_replicas(lua_State *L, int index);

/*
 * Sets two fields of the table on top of the stack: routers, a list of { requests =, ... } per
 * replica, and requests_without_router. Does nothing without replicas.
 */
void set_replica_reports(lua_State *L, const bind_view *view);

#endif
