/*
 * catalogue.h - the built-in policies as Lua tables. The Lua half uses them to check definitions
 * and to print listings.
 */
#ifndef BLIS_LUA_POLICIES_BUILTIN_CATALOGUE_H
#define BLIS_LUA_POLICIES_BUILTIN_CATALOGUE_H

#include <lua.h>

/*
 * policies(): returns {filters = {...}, scorers = ..., pickers = ..., routers = ..., admissions =
 * ..., cascades = ..., priorities = ...}. policies("routers") returns one of these lists, or nil
 * for an unknown kind.
 */
int bind_policy_catalogue(lua_State *L);

/*
 * scorer_list(text, place): parses "prefix-affinity:3,queue-depth:2" into {{"prefix-affinity",
 * 3.0}, ...}. Error messages start with place.
 */
int bind_scorer_list(lua_State *L);

#endif
