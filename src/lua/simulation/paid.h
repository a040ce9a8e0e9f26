/*
 * paid.h - for how long the instances of a run were paid, and at what price.
 */
#ifndef BLIS_LUA_SIMULATION_PAID_H
#define BLIS_LUA_SIMULATION_PAID_H

#include "lua/simulation/simulation.h"

/*
 * Sets the field paid of the summary on top: for each group { seconds =,
 * billed_seconds =, whole_seconds =, node_seconds =, node_usd =,
 * listed_seconds =, listed_gpu_usd = } up to end_us: all of it; the same as it
 * is billed; what would be billed for one instance all the time; of what is
 * billed, that of instances whose price the pool of their machine says, and
 * that of those with a list of prices (of each of their GPUs). Without pools of
 * machines, lists and rules of billing, and where all instances were paid all
 * the time, which is told by the duration alone, only if it is asked for.
 */
void set_paid(lua_State *L, const bind_simulation *sim, int64_t end_us, bool always);

/* config.prices: { { group =, { from_us =, per_hour = }, ... }, ... }, groups
   from 0; what each of their GPUs costs. */
void check_set_prices(lua_State *L, int config, const bind_simulation *sim);

/* config.cluster.billing: { { group =, granularity_us =, minimum_us = }, ... }, groups
   from 0. */
void check_set_billing(lua_State *L, int config, const bind_simulation *sim);

#endif
