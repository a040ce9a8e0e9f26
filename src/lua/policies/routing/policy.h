/*
 * policy.h - policies as values: the results of blis.scorer and similar functions.
 *
 * A policy is a userdata that contains its definition, a table that the Lua half has checked. Every
 * simulation creates a separate implementation from the definition. Scorers have methods that
 * scripts can call during a decision.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_POLICY_H
#define BLIS_LUA_POLICIES_ROUTING_POLICY_H

#include <lua.h>

void bind_open_policies(lua_State *L);

/* policy(definition): creates a policy; definition has kind and name. */
int bind_policy_new(lua_State *L);

/* policy_definition(value): returns the definition, or nil if value is not a policy. */
int bind_policy_definition(lua_State *L);

#endif
