/*
 * paid.h - for how long the instances of a run were paid, and at what price.
 */
#ifndef BLIS_LUA_SIMULATION_PAID_H
#define BLIS_LUA_SIMULATION_PAID_H

#include "lua/simulation/simulation.h"

/*
 * Sets the field `paid` of the summary on top, up to end_us. It has for each group:
 * - seconds: paid time, and billed_seconds: that time as billed;
 * - whole_seconds: billed time of one instance that is paid throughout;
 * - node_seconds, node_usd: the part of the billed time that a machine pool prices;
 * - listed_seconds, listed_gpu_usd: the part that a price list prices, per GPU.
 * Without machine pools, price lists, and billing rules, and if all instances were paid throughout,
 * the duration implies these values. Then the field is set only if `always` is true.
 */
void set_paid(lua_State *L, const bind_simulation *sim, int64_t end_us, bool always);

/* config.prices: { { group =, { from_us =, per_hour = }, ... }, ... }, groups
   from 0; what each of their GPUs costs. */
void check_set_prices(lua_State *L, int config, const bind_simulation *sim);

/* config.cluster.billing: { { group =, granularity_us =, minimum_us = }, ... }, groups
   from 0. */
void check_set_billing(lua_State *L, int config, const bind_simulation *sim);

#endif
