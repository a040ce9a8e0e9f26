/*
 * disaggregation.h - prefill/decode disaggregation from checked options.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_DISAGGREGATION_H
#define BLIS_LUA_POLICIES_ROUTING_DISAGGREGATION_H

#include <lua.h>

#include "cluster/encode/encode.h"
#include "cluster/handoff/handoff.h"
#include "lua/policies/view/view.h"
#include "policy/contract/entry.h"

/*
 * Fills *made, which is zeroed, from the table at index, as
 * lua/blis/feature/disaggregation/read.lua returns it. The caller owns its policies,
 * which borrow view, in any case. May raise.
 */
void check_disaggregation(lua_State *L, int index, bind_view *view,
                          const blis_policy_context *context, blis_disaggregation *made);

/* Reads the encode stage; its rule decides whether it exists. */
void check_encode_stage(lua_State *L, int index, bind_view *view,
                        const blis_policy_context *context, blis_encode_stage *made);

#endif
