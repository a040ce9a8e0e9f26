/*
 * fresh.h - policies that start with an empty state in every run.
 *
 * A script may define a policy as a function that makes it, so that the state of its functions
 * belongs to one run. Its definition then has `make`, and nothing else that the core could call.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_FRESH_H
#define BLIS_LUA_POLICIES_VIEW_FRESH_H

#include <lua.h>
#include <stdbool.h>

#include "lua/policies/view/view.h"

/*
 * Has the definition at index that function of the script, or does it get it
 * when the run begins?
 */
bool is_scripted_policy(lua_State *L, int index, const char *function);

/*
 * Replaces the definition at index, a slot of the caller, by the result of its `make` for a run of
 * that context. A definition without `make` stays. Raises.
 */
void check_fresh(lua_State *L, int index, const blis_policy_context *context);

/*
 * Like check_fresh, for policies that several stages of a run may share: all stages get the policy
 * made for the first stage. Raises.
 */
void check_fresh_once(lua_State *L, int index, bind_view *view);

#endif
