/*
 * paid.h - the paid time of a run's instances, and its price.
 */
#ifndef BLIS_LUA_SIMULATION_PAID_H
#define BLIS_LUA_SIMULATION_PAID_H

#include "lua/simulation/simulation.h"

/*
 * Sets the field `paid` of the summary on top of the stack, for the time up to end_us. It contains
 * for each group:
 * - seconds: paid time; billed_seconds: the same time, rounded as billed;
 * - whole_seconds: billed time of one instance that is paid for the whole run;
 * - node_seconds, node_usd: the part of the billed time that is priced by a node pool;
 * - listed_seconds, listed_gpu_usd: the part that is priced by a price list, per GPU.
 * If there are no node pools, price lists, or billing rules, and all instances were paid for the
 * whole run, these values follow from the duration. In that case the field is set only if `always`
 * is true.
 */
void set_paid(lua_State *L, const bind_simulation *sim, int64_t end_us, bool always);

/* config.prices: { { group =, { from_us =, per_hour = }, ... }, ... }, groups are numbered from
   0. Sets the cost of each GPU of a group over time. */
void check_set_prices(lua_State *L, int config, const bind_simulation *sim);

/* config.cluster.billing: { { group =, granularity_us =, minimum_us = }, ... }, groups are
   numbered from 0. */
void check_set_billing(lua_State *L, int config, const bind_simulation *sim);

#endif
