/*
 * fresh.h - policies that start afresh in every run.
 *
 * A script may write a policy as a function that makes it, so that what its
 * functions remember belongs to one run. Its definition then has `make`, and
 * nothing else that the core could call.
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
 * Replaces the definition at index, a slot of the caller's, by what its `make`
 * returns for a run of that context; one without `make` stays. Raises.
 */
void check_fresh(lua_State *L, int index, const blis_policy_context *context);

/*
 * The same for policies that several stages of a run may have: all get the one
 * that is made for the first of them. Raises.
 */
void check_fresh_once(lua_State *L, int index, bind_view *view);

#endif
