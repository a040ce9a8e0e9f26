/*
 * routing.h - creates the router, admission policy, and cascade of one run from checked
 * definitions: built in, scripted, or a mix of both.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_ROUTING_H
#define BLIS_LUA_POLICIES_ROUTING_ROUTING_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/admission/admission.h"
#include "policy/cascade/cascade.h"
#include "policy/contract/entry.h"

/*
 * Creates *router from the definition at index, in the form of lua/blis/policy/init.lua. The caller
 * owns *router, which borrows view. May raise; in this case nothing remains allocated.
 */
void check_router(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                  blis_router *router);

/* Like check_router, for an admission policy. */
void check_admission(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                     blis_admission *admission);

/* Creates a cascade, including the functions of a script, if any. */
void check_cascade(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                   blis_cascade *cascade);

/*
 * Reads { parameter = value, ... } at index, ordered by name. Leaves the buffer on the stack;
 * strings belong to the table. May raise.
 */
blis_params check_changes(lua_State *L, int index);

#endif
