/*
 * lua_policy.h - policies as values: what blis.scorer and its like return.
 *
 * A policy is a userdata that keeps its definition, a table the Lua half has
 * checked; every simulation makes an implementation of its own from it.
 */
#ifndef BLIS_LUA_POLICIES_POLICY_H
#define BLIS_LUA_POLICIES_POLICY_H

#include <lua.h>

void bind_open_policies(lua_State *L);

/* policy(definition): definition has kind and name. */
int bind_policy_new(lua_State *L);

/* policy_definition(value): its table, or nil when value is no policy. */
int bind_policy_definition(lua_State *L);

/* Pushes the definition of a policy of that kind, or raises. */
void push_policy_definition(lua_State *L, int index, const char *kind);

/*
 * scorer_list(text, place): what "prefix-affinity:3,queue-depth:2" says, as
 * {{"prefix-affinity", 3.0}, ...}; place starts the message of an error.
 */
int bind_scorer_list(lua_State *L);

/*
 * policies(): the built-in ones, {filters = {...}, scorers = ..., pickers =
 * ..., routers = ..., admissions = ..., cascades = ..., priorities = ...}.
 */
int bind_policy_catalogue(lua_State *L);

#endif
