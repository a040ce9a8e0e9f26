/*
 * gateway.h - the gateway's queue from a checked table.
 */
#ifndef BLIS_LUA_POLICIES_QUEUE_GATEWAY_H
#define BLIS_LUA_POLICIES_QUEUE_GATEWAY_H

#include <lua.h>

#include "cluster/gateway/gateway.h"
#include "lua/policies/view/view.h"
#include "policy/contract/entry.h"

/*
 * Fills *made, which is zeroed, from the table at index, as
 * lua/blis/feature/queue/read.lua returns it; it borrows from that table. The caller
 * owns its policies, which borrow view, in any case. May raise.
 */
void check_gateway(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                   blis_gateway *made);

#endif
