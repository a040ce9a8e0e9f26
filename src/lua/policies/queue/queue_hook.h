/* queue_hook.h - decisions of a gateway queue as Lua functions: the next tenant, the next band,
 * and the position in a flow. */
#ifndef BLIS_LUA_POLICIES_QUEUE_QUEUE_HOOK_H
#define BLIS_LUA_POLICIES_QUEUE_QUEUE_HOOK_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/entry.h"
#include "policy/flow/flow_hook.h"

/*
 * Create *hook from the definition at index. The caller owns *hook, which borrows view. They may
 * raise.
 * - fairness: pick(flows, now_us) returns the index of a flow, from 1.
 *   flows is a list of { tenant, waiting, head_wait_us, service_tokens }.
 * - band selection: pick(bands, saturation, now_us) returns the index of a band or nil.
 *   bands is a list of { priority, waiting, longest_wait_us, ceiling, is_open, dispatched,
 *   dispatched_tokens }.
 * - order: key(request, now_us) returns a number.
 */
void check_fairness_hook(lua_State *L, int index, bind_view *view,
                         const blis_policy_context *context, blis_flow_hook *hook);
void check_band_hook(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                     blis_flow_hook *hook);
void check_order_hook(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                      blis_flow_hook *hook);

#endif
