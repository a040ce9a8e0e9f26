/*
 * shares.h - cluster options that are numbers by name: values of SLO classes,
 * budgets of tenants.
 *
 * The Lua half gives them as lists {{name =, value =}, ...}, ordered by name.
 */
#ifndef BLIS_LUA_ENGINE_SHARES_H
#define BLIS_LUA_ENGINE_SHARES_H

#include <lua.h>

#include "cluster/cluster.h"

/*
 * Fills in slo_overrides and the budgets of tenants from the options at index, where they may be
 * absent. Leaves values on the stack, which own the lists; the names borrow from the options.
 * Raises.
 */
void push_shares(lua_State *L, int index, blis_cluster_config *config);

#endif
