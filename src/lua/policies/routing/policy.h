/*
 * policy.h - policies as values: the results of blis.scorer and the like.
 *
 * A policy is a userdata that keeps its definition, a table the Lua half has
 * checked; every simulation makes an implementation of its own from it. Scorers
 * have methods, by which scripts ask them in the middle of a decision.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_POLICY_H
#define BLIS_LUA_POLICIES_ROUTING_POLICY_H

#include <lua.h>

void bind_open_policies(lua_State *L);

/* policy(definition): definition has kind and name. */
int bind_policy_new(lua_State *L);

/* policy_definition(value): its table, or nil when value is no policy. */
int bind_policy_definition(lua_State *L);

#endif
