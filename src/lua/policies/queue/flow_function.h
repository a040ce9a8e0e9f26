/*
 * flow_function.h - saturation detectors and usage limits of a gateway queue, built in or as Lua
 * functions.
 */
#ifndef BLIS_LUA_POLICIES_QUEUE_FLOW_FUNCTION_H
#define BLIS_LUA_POLICIES_QUEUE_FLOW_FUNCTION_H

#include <lua.h>

#include "lua/bind/hook.h"
#include "policy/contract/entry.h"
#include "policy/flow/saturation.h"
#include "policy/flow/usage_limit.h"

/*
 * Creates *saturation from the definition at index. A Lua function is called as measure(instances)
 * and returns a number; instances is a list of tables with the signals of blis_saturation_look. The
 * caller owns *saturation, which borrows hooks. May raise.
 */
void check_saturation(lua_State *L, int index, bind_hooks *hooks,
                      const blis_policy_context *context, blis_saturation *saturation);

/*
 * Like check_saturation, for a usage limit: ceilings(saturation, priorities) returns a list, one
 * number for each priority.
 */
void check_usage_limit(lua_State *L, int index, bind_hooks *hooks,
                       const blis_policy_context *context, blis_usage_limit *limit);

#endif
