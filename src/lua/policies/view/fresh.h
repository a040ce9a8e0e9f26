/*
 * fresh.h - policies that start with an empty state in every run.
 *
 * A script may define a policy as a function that creates the policy, so that the state of its
 * functions belongs to one run. Its definition then contains `make`, and no other functions that
 * the core could call.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_FRESH_H
#define BLIS_LUA_POLICIES_VIEW_FRESH_H

#include <lua.h>
#include <stdbool.h>

#include "lua/policies/view/view.h"

/*
 * Returns whether the definition at index contains this function of a script, or will contain it
 * when the run begins.
 */
bool is_scripted_policy(lua_State *L, int index, const char *function);

/*
 * Replaces the definition at index, which is a slot of the caller, with the result of its `make`
 * for a run with this context. A definition without `make` is unchanged. May raise.
 */
void check_fresh(lua_State *L, int index, const blis_policy_context *context);

/*
 * Like check_fresh, for policies that several stages of a run may share: all stages get the policy
 * that was created for the first stage. May raise.
 */
void check_fresh_once(lua_State *L, int index, bind_view *view);

#endif
