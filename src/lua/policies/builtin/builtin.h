/*
 * builtin.h - creates the built-in policies from checked definitions.
 *
 * A definition, at index, is a table with name and parameters = {{name =, value =}, ...}. The
 * caller owns the policy. All functions may raise; in this case nothing remains allocated.
 */
#ifndef BLIS_LUA_POLICIES_BUILTIN_BUILTIN_H
#define BLIS_LUA_POLICIES_BUILTIN_BUILTIN_H

#include <lua.h>

#include "policy/admission/admission.h"
#include "policy/autoscale/autoscaler.h"
#include "policy/cascade/cascade.h"
#include "policy/contract/entry.h"
#include "policy/decider/decider.h"
#include "policy/flow/saturation.h"
#include "policy/flow/usage_limit.h"
#include "policy/priority/priority.h"

/* Returns the parameters of the definition, in a buffer that is pushed. */
blis_params push_params(lua_State *L, int index);

void check_builtin_scorer(lua_State *L, int index, const blis_policy_context *context,
                          blis_scorer *scorer);
void check_builtin_filter(lua_State *L, int index, const blis_policy_context *context,
                          blis_filter *filter);
void check_builtin_picker(lua_State *L, int index, const blis_policy_context *context,
                          blis_picker *picker);
void check_builtin_router(lua_State *L, int index, const blis_policy_context *context,
                          blis_router *router);
void check_builtin_admission(lua_State *L, int index, const blis_policy_context *context,
                             blis_admission *admission);
void check_builtin_cascade(lua_State *L, int index, const blis_policy_context *context,
                           blis_cascade *cascade);
void check_builtin_priority(lua_State *L, int index, const blis_policy_context *context,
                            blis_priority *priority);
void check_builtin_autoscaler(lua_State *L, int index, const blis_policy_context *context,
                              blis_autoscaler *autoscaler);
void check_builtin_decider(lua_State *L, int index, const blis_policy_context *context,
                           blis_decider *decider);
void check_builtin_saturation(lua_State *L, int index, const blis_policy_context *context,
                              blis_saturation *saturation);
void check_builtin_usage_limit(lua_State *L, int index, const blis_policy_context *context,
                               blis_usage_limit *limit);

#endif
