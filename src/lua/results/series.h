/*
 * series.h - metrics over time as Lua columns.
 */
#ifndef BLIS_LUA_RESULTS_SERIES_H
#define BLIS_LUA_RESULTS_SERIES_H

#include <lua.h>

#include "results/log/series.h"

/*
 * id_digits is the number of digits of instance ids. Pushes { interval_us =, rows =, t_us = {...},
 * a list per metric of the cluster, instances = { { queue_depth = {...}, batch_size =,
 * kv_utilization = }, ... } }.
 */
void push_series(lua_State *L, const blis_series *series, int id_digits);

#endif
