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
 * Fills *made, which must be zeroed, from the table at index, in the form that
 * lua/blis/feature/disaggregation/read.lua returns. The caller always owns its policies, which
 * borrow view. May raise.
 */
void check_disaggregation(lua_State *L, int index, bind_view *view,
                          const blis_policy_context *context, blis_disaggregation *made);

/* Reads the encode stage. The rule of the stage determines whether it exists. */
void check_encode_stage(lua_State *L, int index, bind_view *view,
                        const blis_policy_context *context, blis_encode_stage *made);

#endif
