/*
 * gateway.h - creates a gateway queue from a checked table.
 */
#ifndef BLIS_LUA_POLICIES_QUEUE_GATEWAY_H
#define BLIS_LUA_POLICIES_QUEUE_GATEWAY_H

#include <lua.h>

#include "cluster/gateway/gateway.h"
#include "lua/policies/view/view.h"
#include "policy/contract/entry.h"

/*
 * Fills *made, which must be zeroed, from the table at index, in the form that
 * lua/blis/feature/queue/read.lua returns. *made borrows from that table. The caller always owns
 * its policies, which borrow view. May raise.
 */
void check_gateway(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                   blis_gateway *made);

#endif
