/*
 * shares.h - cluster options that are numbers by name: values of SLO classes,
 * budgets of tenants.
 *
 * The Lua half passes them as lists {{name =, value =}, ...}, ordered by name.
 */
#ifndef BLIS_LUA_ENGINE_SHARES_H
#define BLIS_LUA_ENGINE_SHARES_H

#include <lua.h>

#include "cluster/cluster.h"

/*
 * Sets slo_overrides and the budgets of tenants from the options at index; both are optional.
 * Leaves values on the stack that own the lists. Names are borrowed from the options. May raise.
 */
void push_shares(lua_State *L, int index, blis_cluster_config *config);

#endif
