/*
 * autoscaler.h - creates the autoscaler of one run from a checked definition: built in, or a Lua
 * function.
 */
#ifndef BLIS_LUA_POLICIES_SCALING_AUTOSCALER_H
#define BLIS_LUA_POLICIES_SCALING_AUTOSCALER_H

#include <lua.h>

#include "lua/bind/hook.h"
#include "policy/autoscale/autoscaler.h"
#include "policy/contract/entry.h"

/*
 * Creates *autoscaler from the definition at index. A function is called with a table of the fields
 * of blis_scale_context, with metrics by name. It returns the target number of instances, { target
 * =, reason =, unconstrained_target = }, or nil for no change. The caller owns *autoscaler, which
 * borrows hooks. May raise; in this case nothing is allocated.
 */
void check_autoscaler(lua_State *L, int index, bind_hooks *hooks,
                      const blis_policy_context *context, blis_autoscaler *autoscaler);

#endif
