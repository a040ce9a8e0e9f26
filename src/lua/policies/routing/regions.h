/*
 * regions.h - regions from a checked table, with functions of a script that choose regions.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_REGIONS_H
#define BLIS_LUA_POLICIES_ROUTING_REGIONS_H

#include <lua.h>

#include "cluster/regions/regions.h"
#include "lua/policies/view/view.h"

/*
 * Fills *made from the table at index, in the form that lua/blis/feature/regions/read.lua returns.
 * Pushes values that own the lists; names are borrowed from the table. The hooks of view keep the
 * state of functions alive. May raise.
 *
 * origin(request) returns the name of a region. choose(request, regions) returns one of the listed
 * regions or its name.
 */
void check_regions(lua_State *L, int index, bind_view *view, blis_regions *made);

#endif
