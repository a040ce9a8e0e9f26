/*
 * cascade.h - a cascade of models in which functions of a script rate the
 * answers and decide which are good enough.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_CASCADE_H
#define BLIS_LUA_POLICIES_ROUTING_CASCADE_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/cascade/cascade.h"

/*
 * Replaces *cascade with a cascade that calls the functions of the definition at index and owns the
 * original. Without functions, nothing changes. May raise; in this case *cascade is unchanged.
 *
 * quality(request, model, rng, output_tokens) returns a mean log-probability and a number of
 * tokens; nil means the default values. escalate(request, attempt, usual) returns whether another
 * model is tried, or which one.
 */
void check_scripted_cascade(lua_State *L, int index, bind_view *view, int64_t seed,
                            blis_cascade *cascade);

/* Sets the fields of an attempt in the table on top of the stack. */
void set_attempt(lua_State *L, const bind_alias *alias, const blis_cascade_attempt *attempt);

#endif
